"""Running operators one by one, in parts; under the interpreter whose torch is tried."""
