"""`ToolPolicy`: the typed knobs of one tool, filled from a profile."""

from typing import Any, Self

import orjson
from pydantic import BaseModel, ConfigDict


class ToolPolicy(BaseModel):
    """Base of every tool's policy: frozen, unknown keys refused, read as strict JSON.

    Subclass it with one field per knob; each default must let the least through. The docstring
    below a field is its description.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, validate_default=True)

    @classmethod
    def from_profile(cls, values: dict[str, Any]) -> Self:
        """Validate *values* as they stand in a profile.

        Lists become tuples, text becomes enums and paths; the text `"5"` is no number.

        Raises:
            pydantic.ValidationError: One entry per fault, with its location.
        """
        return cls.model_validate_json(orjson.dumps(values), strict=True)
