"""`BytesLike`, the type of what can be offered: any contiguous buffer, arrays of numpy included.

For annotations alone: nothing is defined at run time, so that numpy is not imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from numpy.typing import NDArray
    from typing_extensions import Buffer

    #: Before Python 3.12, the types of numpy do not show that an array is a buffer.
    BytesLike: TypeAlias = Buffer | NDArray[Any]
