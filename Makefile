# Everything a user or a contributor does starts here. `make` alone lists it.
# CMake does the building (CMakePresets.json); these targets add what a bare machine lacks.
SHELL := /bin/bash
.DEFAULT_GOAL := help
JOBS ?= $(shell nproc)
KUBE_DIR ?= build/kube
KUBE_FLAGS ?= --scheduler --controller-manager
FUZZ_SECONDS ?= 30
CHAOS_STARTS ?= 1000000
CHAOS_SEED ?= $(shell date +%Y%m%d)

# What each compiled unit costs is noted by a launcher behind ccache, and checked by `make compile-cost`.
build: export CCACHE_PREFIX := $(CURDIR)/tools/compile_cost
build: export LOCKSTEP_COMPILE_COST_LOG := $(CURDIR)/build/compile-cost.log
SANITIZER_ENV := ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1 \
  UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 \
  ASAN_SYMBOLIZER_PATH=/usr/lib/llvm-19/bin/llvm-symbolizer TSAN_SYMBOLIZER_PATH=/usr/lib/llvm-19/bin/llvm-symbolizer
CTEST := ctest --output-on-failure --no-tests=error
SOURCES = git ls-files -co --exclude-standard '*.cc' '*.h'

.PHONY: help deps kube build test unit chaos demo bench tidy tidy-changed format format-check compile-cost \
  kube-up kube-down asan tsan fuzz clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F'\t' '{printf "make %-14s %s\n", $$1, $$2}'

deps:  ## install the Debian packages that are missing (tools/apt-packages.txt)
	@tools/deps

kube:  ## build etcd, kube-apiserver and friends (Go, ten minutes once, cached)
	@tools/kube/build --quiet

build: deps  ## build build/lockstep and the tests (release)
	cmake --preset release
	cmake --build --preset release -j $(JOBS)

test: build kube  ## run every test, those on a real control plane included
	$(CTEST) --test-dir build -j $(JOBS)

unit: build  ## run the tests that need no control plane, but for chaos
	$(CTEST) --test-dir build -j $(JOBS) -LE 'kube|chaos'

chaos: build  ## start CHAOS_STARTS (a million) gangs in random worlds, from CHAOS_SEED (today) on; at night
	mkdir -p build/chaos
	cd build/chaos && ../../tests/scenarios/chaos_side_by_side ../play_chaos $(JOBS) $(CHAOS_STARTS) $(CHAOS_SEED)000000

demo: build kube  ## see whole gangs start together on a real API server, and what happens without
	@tools/demo.sh

bench: build kube  ## measure: the core, and end to end against a raw client
	@bench/run.sh

kube-up: deps kube  ## start a control plane; prints its kubeconfig
	@tools/kube/up $(KUBE_DIR) $(KUBE_FLAGS)

kube-down:  ## take it down
	@tools/kube/down $(KUBE_DIR)

format:  ## format the C++ files
	$(SOURCES) | xargs clang-format-19 -i

format-check:  ## fail when a C++ file is not formatted
	$(SOURCES) | xargs clang-format-19 --dry-run -Werror

tidy: deps  ## run clang-tidy on all files
	cmake --preset asan
	cmake --build --preset asan -j $(JOBS) --target pch pch_tests
	tools/tidy --all

tidy-changed: deps
	cmake --preset asan
	cmake --build --preset asan -j $(JOBS) --target pch pch_tests
	tools/tidy --changed --budget 300

compile-cost:  ## fail when a unit compiled since the last clean costs too much
	tools/compile_cost --check build/compile-cost.log

asan: deps  ## unit and scenario tests under address and undefined behaviour sanitizers
	cmake --preset asan
	cmake --build --preset asan -j $(JOBS)
	$(SANITIZER_ENV) $(CTEST) --test-dir build-asan -j $(JOBS) -LE 'kube|source|chaos|long'

tsan: deps  ## tests of the rooms with threads under the thread sanitizer
	cmake --preset tsan
	cmake --build --preset tsan -j $(JOBS) --target $$(tools/tsan_targets)
	$(SANITIZER_ENV) $(CTEST) --test-dir build-tsan -j $(JOBS) -R "^($$(tools/tsan_targets | tr ' ' '|'))$$"

fuzz: deps  ## run each fuzz target for FUZZ_SECONDS (30)
	cmake --preset fuzz
	cmake --build --preset fuzz -j $(JOBS)
	tools/fuzz $(FUZZ_SECONDS)

clean: kube-down  ## remove the build folders
	rm -rf build build-*
