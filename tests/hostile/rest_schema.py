"""OpenAPI document for the part of TensorFlow Serving's REST interface that tfreps has."""

LEAF = {
    "anyOf": [
        {"type": "number"},
        {"type": "string"},
        {"type": "boolean"},
        {"type": "object", "properties": {"b64": {"type": "string"}}, "required": ["b64"]},
    ]
}
ANY_VALUE = {"anyOf": [LEAF, {"type": "array", "items": LEAF}]}
ROWS = {"type": "array", "minItems": 1, "items": ANY_VALUE}
PREDICT = {
    "type": "object",
    "properties": {
        "signature_name": {"type": "string"},
        "instances": ROWS,
        "inputs": ANY_VALUE,
    },
    "oneOf": [{"required": ["instances"]}, {"required": ["inputs"]}],
}
ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {"error": {"type": "string", "minLength": 1}},
    "additionalProperties": False,
}
ANSWERS = {
    "predict": {
        "type": "object",
        "properties": {"predictions": {"type": "array"}, "outputs": {}},
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
    },
    "metadata": {"type": "object", "required": ["model_spec", "metadata"]},
    "status": {
        "type": "object",
        "required": ["model_version_status"],
        "properties": {"model_version_status": {"type": "array", "minItems": 1}},
    },
}
REFUSALS = ("400", "403", "404", "405", "413", "415", "429", "501")
# Known and unknown names. Other paths are tested in `test_rest.py`.
PLACES = {
    "name": ["half_plus_two", "zoo", "none", "é", "a b", "%2e%2e", "x/y"],
    "version": [123, 7, 0, 2**63 - 1, 2**63, 10**30],
    "label": ["stable", "x", "é/é", "stable:predict"],
}


def document():
    """Returns the OpenAPI document as a dict."""
    paths = {}
    for which in "", "/versions/{version}", "/labels/{label}":
        base = f"/v1/models/{{name}}{which}"
        paths[f"{base}:predict"] = {"post": operation(base, "predict", body=PREDICT)}
        paths[base] = {"get": operation(base, "status")}
        paths[f"{base}/metadata"] = {"get": operation(base, "metadata")}
    return {
        "openapi": "3.0.3",
        "info": {"title": "RESTful API of TensorFlow Serving", "version": "v1"},
        "paths": paths,
    }


def operation(base, answer, body=None):
    """Returns the description of one method of a path."""
    names = [name for name in PLACES if f"{{{name}}}" in base]
    found = {
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"enum": PLACES[name]}}
            for name in names
        ],
        "responses": {
            "200": {"description": "an answer", **as_json(ANSWERS[answer])},
            **{code: {"description": "a refusal", **as_json(ERROR)} for code in REFUSALS},
        },
    }
    if body is not None:
        found["requestBody"] = {"required": True, **as_json(body)}
    return found


def as_json(schema):
    return {"content": {"application/json": {"schema": schema}}}
