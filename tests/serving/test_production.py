"""Tests that the files for TensorFlow Serving are valid and agree on ports, paths and flags."""

import re
import shutil
import subprocess

import kubernetes_validate
import pytest
import yaml
from google.protobuf import text_format
from tensorflow_serving.config import model_server_config_pb2

from tests.conftest import CHECKOUT

SERVING = CHECKOUT / "serving"
IMAGE = "tensorflow/serving:2.20.0"
PORTS = {"grpc": 8500, "rest": 8501}
# All versions whose API the manifests must follow.
KUBERNETES = "1.28", "1.32", "1.36"


def documents(path):
    return [document for document in yaml.safe_load_all((SERVING / path).read_text())]


def manifests():
    kustomization = documents("kustomization.yaml")[0]
    return {m["kind"]: m for path in kustomization["resources"] for m in documents(path)}


def flags(arguments):
    return dict(argument.removeprefix("--").split("=", 1) for argument in arguments)


def deployed():
    (container,) = manifests()["Deployment"]["spec"]["template"]["spec"]["containers"]
    return container


def composed():
    (service,) = documents("compose.yaml")[0]["services"].values()
    return service


def docker_lines():
    """Returns a dict of instruction -> arguments, without comments and with lines joined."""
    text = re.sub(r"^#.*\n", "", (SERVING / "Dockerfile").read_text(), flags=re.M)
    pairs = [line.split(" ", 1) for line in text.replace("\\\n", " ").splitlines()]
    return {name: [rest for each, rest in pairs if each == name] for name, _ in pairs}


@pytest.mark.parametrize("version", KUBERNETES)
def test_manifests_have_the_schema_of_kubernetes(version):
    found = manifests()
    assert set(found) == {
        *("Deployment", "Service", "HorizontalPodAutoscaler", "PodDisruptionBudget"),
        "PersistentVolumeClaim",
    }
    for manifest in found.values():
        kubernetes_validate.validate(manifest, version, strict=True)


def test_a_wrong_manifest_would_be_found():
    wrong = {**manifests()["Service"], "spec": {"ports": [{"port": "rest"}]}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, KUBERNETES[0], strict=True)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on this machine")
def test_kustomize_builds_it():
    command = ["kubectl", "kustomize", str(SERVING)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    built = {m["kind"]: m for m in yaml.safe_load_all(text)}
    assert set(built) == {*manifests(), "ConfigMap"}
    assert set(built["ConfigMap"]["data"]) == {
        *("models.config", "batching.config", "monitoring.config"),
    }


def test_one_set_of_flags_and_the_image_of_one_version():
    wanted = flags(composed()["command"])
    in_image = flags(yaml.safe_load(docker_lines()["CMD"][0]))
    in_pod = flags(deployed()["args"])
    slower = {"file_system_poll_wait_seconds": "30"}  # many replicas read one volume
    assert in_image == wanted and in_pod == {**wanted, **slower}
    assert docker_lines()["FROM"] == [composed()["image"]] == [deployed()["image"]] == [IMAGE]


def test_files_that_flags_name_are_there():
    """/config is a folder in compose, a copy in the image and a ConfigMap in Kubernetes."""
    named = {v for v in flags(composed()["command"]).values() if v.startswith("/")}
    assert {path.rpartition("/")[0] for path in named} == {"/config"}
    names = {path.rpartition("/")[2] for path in named}
    assert names <= {path.name for path in (SERVING / "config").iterdir()}
    kustomization = documents("kustomization.yaml")[0]
    (generated,) = kustomization["configMapGenerator"]
    assert {f"config/{name}" for name in names} == set(generated["files"])
    assert "./config:/config:ro" in composed()["volumes"]
    assert "serving/config /config" in docker_lines()["COPY"]
    mounts = {mount["name"]: mount["mountPath"] for mount in deployed()["volumeMounts"]}
    assert mounts == {"models": "/models", "config": "/config"}
    volumes = manifests()["Deployment"]["spec"]["template"]["spec"]["volumes"]
    sources = {volume["name"]: volume for volume in volumes}
    assert sources["config"]["configMap"]["name"] == generated["name"]
    claim = sources["models"]["persistentVolumeClaim"]["claimName"]
    assert claim == manifests()["PersistentVolumeClaim"]["metadata"]["name"]


@pytest.mark.parametrize("name", ["models.config", "canary.config"])
def test_models_are_read_by_the_servers_own_format(name):
    text = (SERVING / "config" / name).read_text()
    config = text_format.Parse(text, model_server_config_pb2.ModelServerConfig())
    (model,) = config.model_config_list.config
    assert (model.name, model.base_path) == ("tagger", "/models/tagger")
    policy = model.model_version_policy
    if name == "canary.config":
        assert set(model.version_labels.values()) <= set(policy.specific.versions)
        assert dict(model.version_labels) == {"stable": 1, "canary": 2}
    else:
        assert policy.latest.num_versions == 1


def text_fields(name):
    """Parses `field { value: X }` and `field: X` of a text proto that has no Python class."""
    text = re.sub(r"#.*", "", (SERVING / "config" / name).read_text())
    assert text.count("{") == text.count("}")
    return dict(re.findall(r"(\w+)\s*(?:\{\s*value)?:\s*\"?([^\s\"}]+)", text))


def test_batching_and_monitoring():
    batching = text_fields("batching.config")
    assert batching == {
        "max_batch_size": "32",
        "batch_timeout_micros": "2000",
        "num_batch_threads": "2",
        "max_enqueued_batches": "64",
        "pad_variable_length_inputs": "true",
    }
    monitoring = text_fields("monitoring.config")
    assert monitoring == {"enable": "true", "path": "/monitoring/prometheus/metrics"}
    pod = manifests()["Deployment"]["spec"]["template"]["metadata"]
    assert pod["annotations"]["prometheus.io/path"] == monitoring["path"]
    assert pod["annotations"]["prometheus.io/port"] == str(PORTS["rest"])


def test_ports():
    assert {p["name"]: p["containerPort"] for p in deployed()["ports"]} == PORTS
    service = manifests()["Service"]["spec"]
    assert {p["targetPort"]: p["port"] for p in service["ports"]} == PORTS
    assert composed()["ports"] == [f"127.0.0.1:{port}:{port}" for port in PORTS.values()]
    assert docker_lines()["EXPOSE"] == [" ".join(map(str, PORTS.values()))]


def test_health_is_the_status_of_a_model_that_is_served():
    text = (SERVING / "config" / "models.config").read_text()
    (name,) = re.findall(r'name: "(\w+)"', text)
    path = f"/v1/models/{name}"
    container = deployed()
    for probe in ("startupProbe", "readinessProbe"):
        assert container[probe]["httpGet"] == {"path": path, "port": "rest"}
    assert container["livenessProbe"]["grpc"] == {"port": PORTS["grpc"]}
    asked = composed()["healthcheck"]["test"][-1]
    assert f"GET {path} HTTP/1.0" in asked and f"/127.0.0.1/{PORTS['rest']}" in asked
    in_image = docker_lines()["HEALTHCHECK"][0]
    assert f"GET {path} HTTP/1.0" in in_image and f"/127.0.0.1/{PORTS['rest']}" in in_image


def test_pods_of_one_label_are_selected_scaled_and_kept():
    deployment = manifests()["Deployment"]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    for selector in (
        deployment["spec"]["selector"]["matchLabels"],
        manifests()["Service"]["spec"]["selector"],
        manifests()["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
    ):
        assert selector == labels
    scaling = manifests()["HorizontalPodAutoscaler"]["spec"]
    assert scaling["scaleTargetRef"]["name"] == deployment["metadata"]["name"]
    assert scaling["metrics"][0]["resource"]["name"] == "cpu"
    assert deployed()["resources"]["requests"]["cpu"]  # the percentage refers to this value
