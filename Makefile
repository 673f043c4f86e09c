# The whole interface to this repository; `make help` lists it.
#   make build              everything that is missing, then the libraries and .venv
#   make test PYTHON=...    any target takes PYTHON (the interpreter for .venv) and JOBS
#   make build UNITY=OFF    the first time: each file is compiled by itself, see TESSERA_UNITY
PYTHON   ?= $(shell command -v python3.11 || command -v python3)
JOBS     ?= $(shell nproc)
PACKAGES ?= yes
UNITY    ?= ON

BIN   := .venv/bin
NINJA := ninja -j $(JOBS)
CMAKE := cmake -G Ninja -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python

CPP_FILES = $(shell git ls-files --cached --others --exclude-standard \
              'src/*.cc' 'src/*.c' 'src/*.h' 'include/*.h' 'python/ffi/*.cc' 'python/ffi/*.h' 'tests/*.cc' 'tests/*.h' 'tests/*.c' 'bench/*.cc')
PY_DIRS   = $(wildcard python tests examples tools bench)

.PHONY: help build runtime demo test test-all test-wheel test-asan test-tsan test-gpu bench-gpu bench-gpu-models gpu-bundle fuzz onnx-conformance test-frameworks test-ray operators-by-framework bench bench-torch bench-ops bench-models bench-tuning format lint build-times wheel docs clean distclean
.DEFAULT_GOAL := help

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' Makefile

# ---- set-up: each step leaves a stamp and is not done again until what it depends on changes ----

.make/packages: packages.txt tools/install_packages
	@mkdir -p .make
	@if [ "$(PACKAGES)" = yes ]; then tools/install_packages; fi
	@touch $@

.venv/.installed: requirements-dev.txt | .make/packages
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@# Python finds the package in the source tree, so a rebuilt library needs no reinstall.
	@echo "$(CURDIR)/python" > "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tessera.pth"
	@for name in tessera tvmc; do ln -sfn ../../python/tessera/bin/tessera $(BIN)/$$name; done
	@touch $@

.venv/.installed-all: requirements-test-all.txt .venv/.installed
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-test-all.txt
	@touch $@

.venv/.installed-wheel: requirements-wheel.txt .venv/.installed
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-wheel.txt
	@touch $@

build/build.ninja: | .venv/.installed
	@$(CMAKE) -S . -B build -DTESSERA_IN_PLACE=ON -DTESSERA_UNITY=$(UNITY) $(CMAKE_FLAGS)

# ---- everyday ----

build: build/build.ninja .venv/.installed  ## install what is missing, compile, leave .venv with tessera importable
	@$(NINJA) -C build

# The folder build-runtime/$(TARGET) then holds lib/libtessera_runtime.so and run_programs, for that machine.
RUNTIME := build-runtime/$(or $(TARGET),native)
runtime: | .make/packages  ## libtessera_runtime alone, which needs no LLVM; TARGET=aarch64-linux-gnu for another machine
	@test -f $(RUNTIME)/build.ninja || cmake -G Ninja -S . -B $(RUNTIME) -DTESSERA_COMPILER=OFF -DTESSERA_PYTHON=OFF \
	  $(if $(TARGET),-DCMAKE_TOOLCHAIN_FILE=cmake/toolchain.cmake -DTESSERA_TRIPLE=$(TARGET)) $(CMAKE_FLAGS)
	@$(NINJA) -C $(RUNTIME)

# ONNX Runtime is what the demo compares itself with; without it (no network, no such machine) it says so and goes on.
.venv/.installed-demo: requirements-demo.txt .venv/.installed
	@if $(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-demo.txt; then touch $@; \
	else echo "onnxruntime could not be installed: the demo runs without it"; fi

demo: build .venv/.installed-demo  ## compile a trained network, read digits with it, write a report
	@$(BIN)/python examples/digits/demo.py --report build/demo/report.html

test: build  ## the tests that need no accelerator
	@status=0; \
	ctest --test-dir build --output-on-failure --no-tests=ignore -j $(JOBS) || status=1; \
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow and not gpu" || status=1; \
	exit $$status

test-all: build .venv/.installed-all  ## the long ones too, the wheel and the sanitizers
	@status=0; report=""; \
	phase() { name=$$1; start=$$(date +%s); shift; echo "== $$name"; result=ok; "$$@" || { result=FAILED; status=1; }; \
	  report="$$report$$(printf '%-10s %6d s  %s' $$name $$(($$(date +%s) - start)) $$result)\n"; }; \
	phase cpp    ctest --test-dir build --output-on-failure --no-tests=ignore -j $(JOBS); \
	phase python $(BIN)/python -m pytest -n $(JOBS) -m "not gpu"; \
	phase wheel  $(MAKE) --no-print-directory test-wheel; \
	phase tsan   $(MAKE) --no-print-directory test-tsan; \
	phase asan   $(MAKE) --no-print-directory test-asan; \
	phase models $(MAKE) --no-print-directory test-frameworks; \
	printf "\n$$report"; exit $$status

test-wheel: wheel  ## each wheel in an empty virtual environment of its Python
	@$(BIN)/python tools/wheels.py test dist

test-asan: .venv/.installed  ## C and C++ tests under the address and undefined-behaviour sanitizers
	@$(CMAKE) -S . -B build-asan -DTESSERA_SANITIZE=address -DTESSERA_PYTHON=OFF
	@$(NINJA) -C build-asan
	@UBSAN_OPTIONS=print_stacktrace=1 ctest --test-dir build-asan --output-on-failure --no-tests=ignore -j $(JOBS)

test-tsan: .venv/.installed  ## tests of the runtime, where threads are, under the thread sanitizer
	@$(CMAKE) -S . -B build-tsan -DTESSERA_SANITIZE=thread -DTESSERA_COMPILER=OFF -DTESSERA_PYTHON=OFF
	@$(NINJA) -C build-tsan tessera_runtime_tests c_c_api
	@ctest --test-dir build-tsan --output-on-failure -R '^(cpp_runtime|c_)' -j $(JOBS)

# Each target of tests/fuzz runs for FUZZ_SECONDS (or the one that FUZZ names). What is found grows build-fuzz/corpus; an
# input that fails is left as build-fuzz/<target>-crash-..., and belongs into tests/fuzz/corpus with its fix.
FUZZ_SECONDS ?= 60
CLANG        ?= clang-19
fuzz: .venv/.installed  ## look for inputs that break our readers, with libFuzzer: FUZZ_SECONDS=60 FUZZ=relay_text
	@command -v $(CLANG) >/dev/null || { echo "make fuzz needs $(CLANG): apt install clang-19"; exit 1; }
	@$(CMAKE) -S . -B build-fuzz -DTESSERA_FUZZ=ON -DTESSERA_SANITIZE=address -DTESSERA_PYTHON=OFF -DTESSERA_TESTS=OFF \
	  -DTESSERA_PCH=OFF -DTESSERA_MOLD=OFF -DCMAKE_C_COMPILER=$(CLANG) -DCMAKE_CXX_COMPILER=$(subst clang,clang++,$(CLANG)) >/dev/null
	@targets="$(or $(FUZZ),$(basename $(filter-out replay.cc,$(notdir $(wildcard tests/fuzz/*.cc)))))"; \
	for name in $$targets; do $(NINJA) -C build-fuzz fuzz_$$name || exit 1; done; status=0; \
	for name in $$targets; do echo "== $$name"; mkdir -p build-fuzz/corpus/$$name; \
	  (cd build-fuzz && ./fuzz_$$name -max_total_time=$(FUZZ_SECONDS) -timeout=20 -rss_limit_mb=4096 -max_len=20000 \
	    -artifact_prefix=$$name- corpus/$$name ../tests/fuzz/corpus/$$name) || status=1; done; exit $$status

test-gpu: build  ## the tests that need a GPU, where one is
	@$(BIN)/python -m pytest -m gpu

bench-gpu: build  ## kernels on a GPU beside PyTorch, where both are: OURS=... names another interpreter with Tessera
	@$(or $(TORCH_PYTHON),$(BIN)/python) bench/gpu.py --ours "$(or $(OURS),$(BIN)/python)" --out build/bench-gpu.json

bench-gpu-models: build  ## whole models on a GPU beside torch.compile, where both are
	@$(or $(TORCH_PYTHON),$(BIN)/python) bench/gpu_models.py --ours "$(or $(OURS),$(BIN)/python)" --out build/bench-gpu-models.json

gpu-bundle: build  ## package, tests and interpreter in one file, for a machine with a GPU and no network (docs/gpu.md)
	@$(BIN)/python tools/gpu_bundle.py build/gpu-bundle.tar.xz

onnx-conformance: build  ## ONNX's own tests of its operators: a table in docs/onnx_operators.md
	@$(BIN)/python tools/onnx_conformance.py --list failed,wrong --write docs/onnx_operators.md

bench: build  ## measurements of bench/
	@$(CMAKE) -S . -B build -DTESSERA_BENCH=ON >/dev/null && $(NINJA) -C build
	@if [ -x build/tessera_bench ]; then build/tessera_bench; else echo "bench/cpp has no benchmarks yet"; fi
	@for script in $(filter-out bench/gpu.py bench/gpu_models.py bench/tuning.py,$(wildcard bench/*.py)); do echo "== $$script"; $(BIN)/python $$script || exit 1; done

# PyTorch, its models, and ONNX Runtime and OpenVINO to compare with: some gigabytes, so only for those who ask for them.
.venv-torch/.installed: requirements-frameworks.txt .venv/.installed
	@test -x .venv-torch/bin/python || $(PYTHON) -m venv .venv-torch
	@# The builds for CPUs are small; where their index is out of reach the usual ones do as well.
	@.venv-torch/bin/python -m pip install --quiet --disable-pip-version-check --retries 0 \
	  --index-url https://download.pytorch.org/whl/cpu $$(grep -o '^torch[a-z]*==[0-9.]*' requirements-frameworks.txt) || true
	@.venv-torch/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-frameworks.txt
	@echo "$(CURDIR)/python" > "$$(.venv-torch/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tessera.pth"
	@touch $@

# Other frameworks: one virtual environment each, of requirements-NAME.txt; some share one.
FRAMEWORK ?=
ENVIRONMENT = .venv-$(if $(filter tflite keras,$(FRAMEWORK)),tensorflow,$(if $(filter caffe2 coreml darknet,$(FRAMEWORK)),caffe,$(FRAMEWORK)))
.venv-%/.installed: requirements-%.txt .venv/.installed
	@test -x .venv-$*/bin/python || $(PYTHON) -m venv .venv-$*
	@.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-$*.txt
	@echo "$(CURDIR)/python" > "$$(.venv-$*/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tessera.pth"
	@touch $@

ifeq ($(FRAMEWORK),)
test-frameworks: build .venv-torch/.installed  ## models exported from PyTorch against ONNX Runtime; FRAMEWORK=name: of another framework
	@.venv-torch/bin/python -m pytest tests/frameworks/*.py
else
test-frameworks: build $(ENVIRONMENT)/.installed
	@$(ENVIRONMENT)/bin/python -m pytest tests/frameworks/$(patsubst torch,pytorch,$(FRAMEWORK))
endif

test-ray: build .venv-ray/.installed  ## tuning on a Ray cluster of two workers on this machine
	@PYTHONPATH=$(CURDIR)/python .venv-ray/bin/python -m pytest tests/python/tune/test_ray.py

operators-by-framework: build $(ENVIRONMENT)/.installed  ## every operator of FRAMEWORK=name against it: docs/operators_by_framework.md
	@$(ENVIRONMENT)/bin/python tools/framework_operators.py --framework $(FRAMEWORK) --write docs/operators_by_framework.md

bench-torch: build .venv-torch/.installed  ## matmuls beside PyTorch, from a virtual environment of its own
	@.venv-torch/bin/python bench/gemm.py
	@.venv-torch/bin/python bench/matmul.py

bench-ops: build .venv-torch/.installed  ## single operators beside ONNX Runtime, OpenVINO and PyTorch; a chart in build/
	@.venv-torch/bin/python bench/ops.py

bench-tuning: build  ## searches beside the schedule rules and beside a random one, models before and after tuning: five minutes each
	@$(BIN)/python bench/tuning.py

bench-models: build .venv-torch/.installed  ## whole models beside ONNX Runtime, OpenVINO and PyTorch; a chart in build/
	@.venv-torch/bin/python bench/models.py

format: .venv/.installed  ## lay out all code
	@$(BIN)/clang-format -i $(CPP_FILES)
	@$(BIN)/ruff check --quiet --fix $(PY_DIRS); $(BIN)/ruff format --quiet $(PY_DIRS)

lint: build/build.ninja .venv/.installed  ## layout, clang-tidy on changed files, ruff, mypy
	@ninja -C build build.ninja >/dev/null  # a new file gets its compile command
	@status=0; \
	echo "clang-format"; echo $(CPP_FILES) | xargs -r $(BIN)/clang-format --dry-run --Werror || status=1; \
	echo "clang-tidy";   $(BIN)/python tools/clang_tidy.py --build build --jobs $(JOBS) || status=1; \
	echo "ruff";         $(BIN)/ruff check $(PY_DIRS) && $(BIN)/ruff format --check $(PY_DIRS) || status=1; \
	echo "mypy";         $(BIN)/mypy || status=1; \
	exit $$status

build-times:  ## the slowest objects of the last build
	@$(PYTHON) tools/build_times.py build

# The libraries are linked from the objects of `make build`, for old systems; the extension is compiled for each Python.
wheel: build .venv/.installed-wheel  ## dist/tessera-*.whl for each Python from 3.9 to 3.13 that is found
	@$(NINJA) -C build portable
	@$(BIN)/python tools/wheels.py build build/portable dist

docs: build  ## the API reference, from docstrings: build/docs/api
	@$(BIN)/python tools/api_reference.py build/docs/api

clean:  ## remove what was built; keep .venv
	rm -rf build build-asan build-tsan build-wheel build-runtime dist python/tessera/lib python/tessera/_ffi*.so

distclean: clean  ## remove .venv and stamps too
	rm -rf .venv .venv-* .make
