"""Tests, without Beam, that the container files for `tfreps annotate` are valid and agree."""

import ast
import re
import shutil
import subprocess

import kubernetes_validate
import pytest
import yaml

import tfreps
from tests.conftest import CHECKOUT
from tfreps.serving import annotate

FOLDER = CHECKOUT / "serving" / "beam"
PAGE = (CHECKOUT / "docs" / "howto" / "large_corpora.md").read_text(encoding="utf-8")
DOCKERFILE = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
PYTHON, BEAM = "3.11", "2.77.0"
# All versions whose API the manifests must follow.
KUBERNETES = "1.28", "1.32", "1.36"
MOUNTS = {"models": "/models", "corpus": "/corpus", "output": "/output"}


def documents(path):
    return list(yaml.safe_load_all((FOLDER / path).read_text(encoding="utf-8")))


def job():
    (found,) = documents("job.yaml")
    return found


def files_pod():
    (found,) = documents("files.yaml")
    return found


def pod_specs():
    return job()["spec"]["template"]["spec"], files_pod()["spec"]


def container(spec):
    (found,) = spec["containers"]
    return found


def parsed(words):
    """Returns the options of a command line, without those of Beam."""
    program, *words = words
    assert program == annotate.COMMAND.name
    given, _ = annotate.split_arguments(words)
    return annotate.COMMAND.parse(given)


def stages():
    """Returns a dict of stage -> text, and checks that each has a base image."""
    found = re.findall(r"^FROM (\S+) AS (\w+)\n(.*?)(?=^FROM |\Z)", DOCKERFILE, re.M | re.S)
    return {name: (base, text.replace("\\\n", " ")) for base, name, text in found}


def installed(stage):
    """Returns a dict of package -> version specifier of the `pip install` of a stage."""
    (line,) = re.findall(r"^RUN pip install --no-cache-dir (.*)$", stages()[stage][1], re.M)
    words = [word.strip('"') for word in line.split() if not word.startswith(("$", '"$', "/"))]
    return dict(re.fullmatch(r"([\w-]+)(.*)", word).groups() for word in words)


def requirements(name):
    """Returns a dict of package -> version specifier of a list in setup.py."""
    tree = ast.parse((CHECKOUT / "setup.py").read_text(encoding="utf-8"))
    (value,) = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and node.targets[0].id == name
    )
    return dict(re.match(r"([\w-]+)([^;]*)", each).groups() for each in ast.literal_eval(value))


@pytest.mark.parametrize("version", KUBERNETES)
def test_manifests_have_the_schema_of_kubernetes(version):
    for path in ("job.yaml", "files.yaml", "storage.yaml"):
        for manifest in documents(path):
            kubernetes_validate.validate(manifest, version, strict=True)


def test_a_wrong_manifest_would_be_found():
    wrong = job()
    wrong["spec"]["podFailurePolicy"]["rules"][0]["onExitCodes"]["values"] = ["two"]
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, KUBERNETES[0], strict=True)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on this machine")
def test_kustomize_builds_the_job_without_the_volumes():
    """`kubectl delete -k` deletes what kustomize builds, and must not delete the output."""
    command = ["kubectl", "kustomize", str(FOLDER)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (built,) = yaml.safe_load_all(text)
    image = f"registry.example.com/tfreps-annotate:{tfreps.__version__}"
    assert built["kind"] == "Job" and container(built["spec"]["template"]["spec"])["image"] == image
    for name in (image, f"registry.example.com/tfreps-beam-worker:{tfreps.__version__}"):
        assert f"-t {name} ." in DOCKERFILE and f"-t {name} ." in PAGE


def test_options_are_those_of_the_program():
    assert container(pod_specs()[0])["command"] == ["tfreps"]
    options = parsed(container(pod_specs()[0])["args"])
    assert options.runner == "local" and options.output_format == "jsonl"
    assert options.output.startswith("/output/") and options.export.startswith("/models/")
    assert all(path.startswith("/corpus/") for path in options.inputs)
    cores = container(pod_specs()[0])["resources"]["requests"]["cpu"]
    assert options.workers * options.threads == int(cores)


def test_options_of_the_other_runners_are_those_of_the_program():
    text = (FOLDER / "job.yaml").read_text(encoding="utf-8")
    blocks = re.findall(r"((?:^#   - \S+\n)+)", text, re.M)
    kept = container(pod_specs()[0])["args"][:4]
    runners = []
    for block in blocks:
        words = [line.removeprefix("#   - ") for line in block.splitlines()]
        assert "--" in words
        runners.append(parsed(kept + words).runner)
    assert runners == ["DataflowRunner", "FlinkRunner"]
    image = f"registry.example.com/tfreps-beam-worker:{tfreps.__version__}"
    assert f"--sdk_container_image={image}\n" in text


def test_an_unknown_option_would_be_found(capsys):
    with pytest.raises((SystemExit, ValueError)):
        parsed([*container(pod_specs()[0])["args"], "--wokers=4"])


def test_another_pod_starts_only_if_it_can_help():
    spec = job()["spec"]
    assert spec["template"]["spec"]["restartPolicy"] == "Never"  # podFailurePolicy requires it
    fail, ignore = spec["podFailurePolicy"]["rules"]
    assert fail["onExitCodes"] == {
        "containerName": container(pod_specs()[0])["name"], "operator": "In", "values": [2],
    }  # fmt: skip
    assert (fail["action"], ignore["action"]) == ("FailJob", "Ignore")
    assert spec["backoffLimit"] > 0 and spec["ttlSecondsAfterFinished"] == 24 * 60 * 60


def test_volumes():
    """The Job reads models and corpus, and writes output; the other pod copies all of them."""
    claims = {c["metadata"]["name"] for c in documents("storage.yaml")}
    models = yaml.safe_load((FOLDER.parent / "kubernetes" / "storage.yaml").read_text())
    claims.add(models["metadata"]["name"])
    for spec in pod_specs():
        volumes = {v["name"]: v.get("persistentVolumeClaim") for v in spec["volumes"]}
        assert volumes.pop("temporary", None) is None
        assert {v["claimName"] for v in volumes.values()} == claims
        mounts = {m["name"]: m["mountPath"] for m in container(spec)["volumeMounts"]}
        assert {name: mounts[name] for name in volumes} == MOUNTS
    written = [m["name"] for m in container(pod_specs()[0])["volumeMounts"] if "readOnly" not in m]
    assert written == ["output", "temporary"]


def test_pods_are_restricted():
    for spec in pod_specs():
        assert spec["automountServiceAccountToken"] is False
        context = spec["securityContext"]
        assert context["runAsNonRoot"] and context["seccompProfile"] == {"type": "RuntimeDefault"}
        assert container(spec)["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert f"USER {context['runAsUser']}\n" in stages()["annotate"][1]
        assert f"--uid {context['runAsUser']} " in stages()["annotate"][1]
    (home,) = container(pod_specs()[0])["env"]
    mounts = {m["name"]: m["mountPath"] for m in container(pod_specs()[0])["volumeMounts"]}
    assert home == {"name": "HOME", "value": mounts["temporary"]}


def test_images_have_the_same_versions_of_python_beam_and_tensorflow():
    assert stages()["worker"][0] == f"apache/beam_python{PYTHON}_sdk:{BEAM}"
    assert stages()["annotate"][0] == f"python:{PYTHON}-slim"
    assert installed("annotate")["apache-beam"] == f"=={BEAM}"
    assert installed("annotate")["tensorflow"] == installed("worker")["tensorflow"]
    row = re.search(rf"^\| {re.escape(PYTHON)} \| (\S+) \| (\S+) \|", PAGE, re.M)
    assert row[1] == BEAM and installed("worker")["tensorflow"] == f"=={row[2]}.*"


def test_a_worker_has_the_packages_of_the_extra_and_tensorflow_but_not_tfreps():
    """Beam is part of the base image."""
    extra = requirements("BEAM")
    assert set(installed("worker")) == {*extra, "tensorflow"} - {"apache-beam"}
    assert extra["apache-beam"] == f">={BEAM.rpartition('.')[0]}"
    lines = [line for line in DOCKERFILE.splitlines() if not line.startswith("#")]
    assert not any("tfreps" in line for line in lines[: lines.index("")])
    assert "COPY ${MODELS} /models" in lines
    assert "[beam]" in stages()["annotate"][1]


def test_the_readme_names_every_file():
    text = (CHECKOUT / "serving" / "README.md").read_text(encoding="utf-8")
    for path in FOLDER.iterdir():
        assert f"`beam/{path.name}`" in text, path.name
