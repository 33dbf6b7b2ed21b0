"""Tests that the files for training on Kubernetes and Slurm are valid, agree, and set TF_CONFIG."""

import json
import os
import re
import shutil
import subprocess

import kubernetes_validate
import pytest
import tensorflow as tf
import yaml

import tfreps
from tests.conftest import CHECKOUT
from tfreps.training import pretrain_elmo

FOLDER = CHECKOUT / "training" / "kubernetes"
README = (FOLDER / "README.md").read_text(encoding="utf-8")
NAME = "tfreps-training"
PORT = 2222
# All versions whose API the manifests must follow.
KUBERNETES = "1.28", "1.32", "1.36"
KINDS = "Job", "Service", "NetworkPolicy", "PersistentVolumeClaim", "Pod"
# Code that prints TF_CONFIG, its process id and its arguments as one line of JSON.
SHOW = r"""#!/bin/sh
printf '{"config": %s, "process": %d, "arguments": "%s"}\n' "$TF_CONFIG" $$ "$*"
"""
needs_kubectl = pytest.mark.skipif(
    shutil.which("kubectl") is None, reason="kubectl is not on this machine"
)


def document(name):
    return yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))


def manifests():
    paths = sorted({path.name for path in FOLDER.glob("*.yaml")} - {"kustomization.yaml"})
    return {m["kind"]: m for m in map(document, paths)}


def pod_spec(job):
    return job["spec"]["template"]["spec"]


def container(job):
    (found,) = pod_spec(job)["containers"]
    return found


def variables(job):
    return {each["name"]: each for each in container(job)["env"]}


def kustomized(folder):
    command = ["kubectl", "kustomize", str(folder)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {m["kind"]: m for m in yaml.safe_load_all(text)}


def edited_copy(folder, **changes):
    """Copies the files and replaces texts: `{stem of a file: (old, new)}`."""
    shutil.copytree(FOLDER, folder)
    for stem, (old, new) in changes.items():
        path = folder / f"{stem}.yaml"
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1
        path.write_text(text.replace(old, new), encoding="utf-8")
    return folder


@pytest.mark.parametrize("version", KUBERNETES)
def test_manifests_have_the_schema_of_kubernetes(version):
    found = manifests()
    assert set(found) == set(KINDS)
    for manifest in found.values():
        kubernetes_validate.validate(manifest, version, strict=True)


@needs_kubectl
def test_kustomize_builds_it_without_the_volume():
    """`kubectl delete -k` deletes what kustomize builds, and must not delete the runs."""
    built = kustomized(FOLDER)
    assert set(built) == {"Job", "Service", "NetworkPolicy"}
    image = f"registry.example.com/tfreps:{tfreps.__version__}"
    assert container(built["Job"])["image"] == image
    assert f"-t {image} dist" in (FOLDER / "Dockerfile").read_text(encoding="utf-8")
    assert f"-t {image} dist" in README


@needs_kubectl
def test_kustomize_writes_another_number_of_workers_in_every_place(tmp_path):
    folder = edited_copy(tmp_path / "copy", job=("completions: 4", "completions: 8"))
    job = kustomized(folder)["Job"]
    assert job["spec"]["completions"] == job["spec"]["parallelism"] == 8
    assert variables(job)["TFREPS_WORKERS"]["value"] == "8"


@needs_kubectl
def test_kustomize_adds_a_gpu_to_each_worker(tmp_path):
    switch = "# components: [gpu]", "components: [gpu]"
    job = kustomized(edited_copy(tmp_path / "copy", kustomization=switch))["Job"]
    assert container(job)["resources"]["limits"] == {"memory": "8Gi", "nvidia.com/gpu": 1}
    assert pod_spec(job)["tolerations"][0]["key"] == "nvidia.com/gpu"
    for version in KUBERNETES:
        kubernetes_validate.validate(job, version, strict=True)


def test_every_worker_has_an_index_and_all_run_at_the_same_time():
    spec = manifests()["Job"]["spec"]
    assert spec["completionMode"] == "Indexed"
    assert spec["completions"] == spec["parallelism"] == 4
    assert variables(manifests()["Job"])["TFREPS_WORKERS"] == {
        "name": "TFREPS_WORKERS",
        "value": "4",
    }


def test_all_restart_when_one_fails():
    """Each failure restarts every worker in its pod, and no index may fail alone."""
    job = manifests()["Job"]
    assert pod_spec(job)["restartPolicy"] == "OnFailure"
    assert job["spec"]["backoffLimit"] == 25 * job["spec"]["completions"]
    assert not {"backoffLimitPerIndex", "podFailurePolicy"} & set(job["spec"])
    assert "--resume" in container(job)["args"]
    assert pod_spec(job)["terminationGracePeriodSeconds"] >= 60


def test_pods_have_the_names_that_the_service_gives():
    job, service = manifests()["Job"], manifests()["Service"]
    labels = job["spec"]["template"]["metadata"]["labels"]
    assert job["metadata"]["name"] == service["metadata"]["name"] == NAME
    assert pod_spec(job)["subdomain"] == service["metadata"]["name"]
    assert service["spec"]["selector"] == labels
    assert service["spec"]["clusterIP"] == "None" and service["spec"]["publishNotReadyAddresses"]
    policy = manifests()["NetworkPolicy"]["spec"]
    assert policy["podSelector"] == {"matchLabels": labels}
    assert policy["ingress"] == [{"from": [{"podSelector": policy["podSelector"]}]}]
    assert manifests()["Pod"]["metadata"]["labels"] != labels


def test_ports():
    (port,) = container(manifests()["Job"])["ports"]
    assert port == {"name": "tensorflow", "containerPort": PORT}
    (served,) = manifests()["Service"]["spec"]["ports"]
    assert served["port"] == PORT and served["targetPort"] == port["name"]


def test_one_volume_is_mounted_everywhere():
    claim = manifests()["PersistentVolumeClaim"]
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    for spec in (pod_spec(manifests()["Job"]), manifests()["Pod"]["spec"]):
        (volume,) = spec["volumes"]
        assert volume["persistentVolumeClaim"] == {"claimName": claim["metadata"]["name"]}
        (mount,) = spec["containers"][0]["volumeMounts"]
        assert mount == {"name": volume["name"], "mountPath": "/data"}
    paths = re.findall(r"=(/[^/]+/\S+)", "\n".join(container(manifests()["Job"])["args"]))
    assert len(paths) == 4 and all(path.startswith("/data/") for path in paths)


def test_pods_are_restricted():
    for spec in (pod_spec(manifests()["Job"]), manifests()["Pod"]["spec"]):
        assert spec["automountServiceAccountToken"] is False
        context = spec["securityContext"]
        assert context["runAsNonRoot"] and context["seccompProfile"] == {"type": "RuntimeDefault"}
        inner = spec["containers"][0]["securityContext"]
        assert inner == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        docker = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
        assert f"USER {context['runAsUser']}\n" in docker and context["runAsUser"] == 1000


def test_options_are_those_of_the_program():
    """The command accepts the options, and the workers can divide the rows of a batch equally."""
    program, command, *words = container(manifests()["Job"])["args"]
    assert (program, command, words.pop()) == (
        "tfreps",
        "pretrain-elmo",
        "--distribute=multiworker",
    )
    options = pretrain_elmo.COMMAND.parse(words)
    assert options.run == "/data/runs/elmo" and options.resume
    assert options.batch_size % manifests()["Job"]["spec"]["completions"] == 0
    script = slurm_script().replace("\\\n", " ")
    line = re.search(r"tfreps pretrain-elmo (.*) --distribute multiworker\n", script)[1]
    options = pretrain_elmo.COMMAND.parse(line.replace("'", "").split())
    assert options.batch_size % int(re.search(r"--nodes=(\d+)", script)[1]) == 0


def put_programs(folder, **scripts):
    """Writes shell scripts to a folder; returns an environment in whose PATH it comes first."""
    for name, script in scripts.items():
        (folder / name).write_text(script, encoding="utf-8")
        (folder / name).chmod(0o755)
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def start_worker(folder, **environment):
    job = container(manifests()["Job"])
    return subprocess.Popen(
        [*job["command"], *job["args"]],
        env={**put_programs(folder, tfreps=SHOW), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("workers, index", [(1, 0), (4, 0), (4, 3), (12, 10)])
def test_the_shell_text_of_the_job_sets_tf_config(workers, index, tmp_path, monkeypatch):
    counts = {"TFREPS_WORKERS": str(workers), "JOB_COMPLETION_INDEX": str(index)}
    process = start_worker(tmp_path, **counts)
    out, err = process.communicate(timeout=60)
    shown = json.loads(out)
    addresses = [f"{NAME}-{i}.{NAME}:{PORT}" for i in range(workers)]
    task = {"type": "worker", "index": index}
    assert err == "" and shown["config"] == {"cluster": {"worker": addresses}, "task": task}
    # The program replaces the shell, so that it receives SIGTERM.
    assert shown["process"] == process.pid
    # A glob reaches the program unchanged.
    assert shown["arguments"].split() == container(manifests()["Job"])["args"][1:]
    monkeypatch.setenv("TF_CONFIG", json.dumps(shown["config"]))
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    assert resolver.cluster_spec().as_dict() == {"worker": addresses}
    assert (resolver.task_type, resolver.task_id) == ("worker", index)


@pytest.mark.parametrize("missing", ["TFREPS_WORKERS", "JOB_COMPLETION_INDEX"])
def test_a_missing_variable_ends_the_worker(missing, tmp_path):
    counts = {"TFREPS_WORKERS": "4", "JOB_COMPLETION_INDEX": "0"}
    del counts[missing]
    process = start_worker(tmp_path, **counts)
    out, err = process.communicate(timeout=60)
    assert process.returncode != 0 and out == "" and missing in err


def test_kubernetes_leaves_the_shell_text_unchanged():
    """Kubernetes replaces `$(NAME)` by the variable of this name, and `$$` by `$`."""
    job = manifests()["Job"]
    for word in (*container(job)["command"], *container(job)["args"]):
        names = {name.strip("()") for name in re.findall(r"\$\(([^)]*)\)", word)}
        assert "$$" not in word and not names & set(variables(job))


def slurm_script():
    return re.search(r"```bash\n(#!/bin/bash\n.*?)```", README, re.S)[1]


# Runs the command once for each task, one after the other.
SRUN = """#!/bin/sh
while [ "${1#--}" != "$1" ]; do shift; done
for task in 0 1 2 3; do SLURM_PROCID=$task "$@"; done
"""
SCONTROL = """#!/bin/sh
[ "$*" = "show hostnames node[7-9],gpu-1" ] && printf '%s\\n' node7 node8 node9 gpu-1
"""


def run_slurm_script(folder, nodes):
    environment = put_programs(folder, tfreps=SHOW, srun=SRUN, scontrol=SCONTROL) | {
        "SLURM_JOB_ID": "12345",
        "SLURM_JOB_NODELIST": nodes,
        "SLURM_CPUS_PER_TASK": "4",
    }
    command = ["bash", "-c", slurm_script()]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


def test_the_slurm_script_sets_tf_config(tmp_path):
    process = run_slurm_script(tmp_path, "node[7-9],gpu-1")
    assert process.returncode == 0, process.stderr
    shown = [json.loads(line) for line in process.stdout.splitlines()]
    addresses = [f"{node}:22345" for node in ("node7", "node8", "node9", "gpu-1")]
    assert [each["config"] for each in shown] == [
        {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": i}} for i in range(4)
    ]
    assert all("--train corpus/train*.txt" in each["arguments"] for each in shown)


def test_the_slurm_script_ends_when_the_nodes_are_unknown(tmp_path):
    process = run_slurm_script(tmp_path, "node1")
    assert process.returncode == 1 and process.stdout == ""


def test_the_readme_names_every_file():
    for path in FOLDER.iterdir():
        name = f"{path.name}/" if path.is_dir() else path.name
        assert name == "README.md" or f"`{name}`" in README, name
    assert all(version in README for version in KUBERNETES)
