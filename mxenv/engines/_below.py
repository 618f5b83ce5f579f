"""What is known of the base when an image is put on top of it, and whether it is the locked one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.errors import Incompatible, LayoutError
from mxenv.frozen import frozen
from mxenv.stores.description import describe

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mxenv.engines import Order
    from mxenv.lock import Lock
    from mxenv.stores import Descriptor, ImageDescription, Source


@frozen
class Base:
    """What has to be known of the base: all but its layers' bytes."""

    configuration: Mapping[str, object]
    layers: tuple[Descriptor, ...]
    read_bytes: int

    @classmethod
    def read(cls, order: Order, source: Source | None) -> Base:
        """Read manifest and configuration; they must be those that were locked."""
        lock = order.lock
        if order.known is not None:
            image, name = order.known.image, lock.base.reference
        elif source is not None:
            image, name = describe(source, lock.target.platform), source.name
        else:
            return cls(configuration={}, layers=(), read_bytes=0)
        if image.manifest.digest != lock.base.digest:
            raise Incompatible(
                f"the base is {image.manifest.digest}, but {lock.base.digest} was locked",
                context=name,
                hint="run `mxenv lock` again, or name the base that was locked",
            )
        _check_platform(image, lock, name)
        return cls(
            configuration=image.configuration,
            layers=image.layers,
            read_bytes=0 if order.known else image.manifest.size + image.config.size,
        )


def _check_platform(image: ImageDescription, lock: Lock, name: str) -> None:
    """Refuse a base that is for another platform, whatever its manifest is called."""
    found = f"{image.configuration.get('os')}/{image.configuration.get('architecture')}"
    if found != "/".join(lock.target.platform.split("/")[:2]):
        raise Incompatible(
            f"the base is for {found}, and the lock for {lock.target.platform}",
            context=name,
            hint="run `mxenv lock` again",
        )
    if len(image.layers) != len(image.diff_ids):
        raise LayoutError(
            f"has {len(image.layers)} layers, and says {len(image.diff_ids)}", context=name
        )
