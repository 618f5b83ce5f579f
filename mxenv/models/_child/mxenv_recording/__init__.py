"""The recorder of operators, in parts; it runs under the interpreter whose torch is asked."""
