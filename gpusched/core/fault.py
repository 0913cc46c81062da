"""A fault: one thing wrong with an input, as a value that can be collected beside others."""

import msgspec


class Fault(msgspec.Struct, frozen=True, gc=False):
    """One thing wrong with a document.

    `path` is the field inside the object, such as `spec.containers[0].resources.limits[nvidia.com/gpu]`, empty for
    the whole object. `message` says what is wrong, quotes the value and says what to write instead; it has no
    final period and no path of its own.
    """

    path: str
    message: str
