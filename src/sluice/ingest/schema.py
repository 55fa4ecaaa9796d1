"""The JSON Schema of the workload file, draft 2020-12, made from `file_schema` and the settings.

It describes what can be checked at one place in a file. Rules about two places (an id given twice,
`max_s` below `avg_s`, a deadline before its job) are only in `parse_workload`.
"""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from sluice.ingest.file_schema.workload import WorkloadShape
from sluice.ingest.settings import Declarations
from sluice.model.settings import Setting, SettingKind

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class _Published(GenerateJsonSchema):
    """Omits the title of each field, which only repeats the field's name.

    An optional field may be null, as `without_nulls` has it.
    """

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401  # pydantic's own
        return False

    def default_schema(self, schema: Any) -> dict[str, Any]:  # noqa: ANN401  # pydantic's own
        made = super().default_schema(schema)
        if made.get("default") is None:
            return made
        default = made.pop("default")
        return {"anyOf": [made, {"type": "null"}], "default": default}


def json_schema(declarations: Declarations) -> dict[str, Any]:
    """The published schema, as plain JSON values. declarations: of the settings.

    >>> json_schema(Declarations(general={}))["title"]
    'Sluice workload file'
    """
    schema = WorkloadShape.model_json_schema(schema_generator=_Published)
    for name, setting in declarations.general.items():
        schema["$defs"][f"setting_{name}"] = _setting_schema(setting)
    references = {name: {"$ref": f"#/$defs/setting_{name}"} for name in declarations.general}
    schema["properties"]["settings"] |= {
        "properties": references | _own_settings(declarations),
        "patternProperties": {rf"^[^.]+\.{name}$": to for name, to in references.items()},
        "additionalProperties": False,
    }
    return {"$schema": DIALECT, **schema}


def _own_settings(declarations: Declarations) -> dict[str, Any]:
    """Those that only one policy has, under its name."""
    return {
        key: _setting_schema(setting)
        for key, setting in declarations.all_settings().items()
        if key not in declarations.general
    }


def _number_schema(setting: Setting) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "number", "minimum": setting.low, "maximum": setting.high}
    if setting.kind is SettingKind.WHOLE:
        schema["type"] = "integer"
    if setting.above >= setting.low:
        schema["exclusiveMinimum"] = setting.above
    if setting.below <= setting.high:
        schema["exclusiveMaximum"] = setting.below
    return schema


def _setting_schema(setting: Setting) -> dict[str, Any]:
    """The JSON Schema of one setting's value."""
    options: list[dict[str, Any]] = [{"enum": list(setting.choices)}]
    if setting.kind is SettingKind.FLAG:
        options = [{"type": "boolean"}]
    elif setting.kind is SettingKind.TEXT:
        options = [{"type": "string"}]
    elif setting.kind is not SettingKind.CHOICE:
        options = [_number_schema(setting)]
    if setting.kind is SettingKind.NUMBERS:
        options.append({"type": "array", "items": options[0]})
    if setting.kind is SettingKind.SPAN:
        options.append({"type": "array", "items": options[0], "minItems": 2, "maxItems": 2})
        options.append({"type": "string", "pattern": r"^\s*[^.\s]+(\.[0-9]+)?\s*\.\.\s*\S+\s*$"})
    if setting.may_be_none:
        options.append({"enum": [None, "none"]})
    about = {"description": setting.meaning, "default": setting.default}
    return {**about, "anyOf": options} if len(options) > 1 else {**about, **options[0]}
