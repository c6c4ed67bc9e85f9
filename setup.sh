#!/usr/bin/env bash
# The one installer. It knows by itself which of its three places it stands in:
#   a clone, on a laptop or in CI   bash setup.sh    makes .venv with everything
#   the Gradescope image            the platform runs it as root, from $AUTOGRADER_ROOT/source (default /autograder/source)
# A second run has nothing to do and takes no time. To choose a Python: PYTHON=/path/to/python3 bash setup.sh
set -euo pipefail
umask 022

say() { printf 'setup: %s\n' "$*"; }

# The last line of a failure says what to do.
die() {
  printf 'setup: error: %s\n' "$*" >&2
  told=yes
  exit 1
}

# bounded SECONDS COMMAND...: ends a command that hangs; macOS has no `timeout`, there the tools' own limits must do.
bounded() {
  local seconds=$1
  shift
  if command -v timeout >/dev/null; then timeout "$seconds" "$@"; else "$@"; fi
}

# make_scratch: a folder for throw-away files, gone when this script ends.
scratch="" told=""
make_scratch() { [[ -n $scratch ]] || scratch=$(mktemp -d); }
at_exit() {
  local status=$?
  [[ -z $scratch ]] || rm -rf "$scratch"
  if ((status != 0)) && [[ -z $told ]]; then printf 'setup: error: stopped half-way: see the lines above, then run setup.sh again\n' >&2; fi
}

# --- Which Python ----------------------------------------------------------------------------------------------------

# unreadable PATH (from the root on): the first folder or file on the way to PATH that other users may not read; nothing when they may.
# Student code runs as a user of its own, so a Python under somebody's private home will not do.
unreadable() {
  local path=$1 leaf=$1 mode
  while :; do
    mode=$(ls -ldL "$path" 2>/dev/null) || mode="----------"
    case ${mode:0:10} in
      d?????????) # a folder on the way must let others pass, the last one must let them list it, too
        case ${mode:7:3} in
          r?[xt]) ;;
          ??[xt]) [[ $path != "$leaf" ]] || { printf '%s\n' "$path" && return; } ;;
          *) printf '%s\n' "$path" && return ;;
        esac
        ;;
      ???????r??) ;;
      *) printf '%s\n' "$path" && return ;;
    esac
    [[ $path != / ]] || return 0
    path=${path%/*}
    path=${path:-/}
  done
}

# probe PYTHON: "ok", version, real executable, standard library, a line each; or a line that says why it will not do.
probe() {
  "$1" -I -c '
import os, sys
if not (3, 10) <= sys.version_info[:2] <= (3, 14):
    print("is Python %d.%d, not 3.10 to 3.14" % sys.version_info[:2])
    sys.exit()
try:
    import ensurepip, venv
except ImportError:
    print("has no venv module (Debian and Ubuntu: apt-get install python3-venv)")
    sys.exit()
print("ok")
print("%d.%d.%d" % sys.version_info[:3])
print(os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable))
print(os.path.dirname(os.path.realpath(os.__file__)))
' 2>/dev/null </dev/null || printf 'does not run\n'
}

# candidates: the Pythons of this machine, best first, a line each. What the user calls python3 comes first.
candidates() {
  local name folder
  if [[ -n ${PYTHON:-} ]]; then
    type -P "$PYTHON" || printf '%s\n' "$PYTHON"
    return
  fi
  for name in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
    type -aP "$name" || true
    for folder in /usr/bin /usr/local/bin /opt/homebrew/bin; do
      if [[ -x $folder/$name ]]; then printf '%s\n' "$folder/$name"; fi
    done
  done
}

# ask PYTHON: sets python (the real executable), version, stdlib and why; 1 when it cannot be used, and why says why.
ask() {
  local answer
  answer=$(probe "$1")
  python="" version="" stdlib="" why=$answer
  [[ ${answer%%$'\n'*} == ok ]] || return 1
  { read -r _ && read -r version && read -r python && read -r stdlib; } <<<"$answer"
  why=""
}

# runs_for_others PYTHON, for root: starts it as nobody. A library that it needs may lie in a private folder, too. Where
# root may not change user (some containers) there is no answer, and no other user either.
runs_for_others() {
  "$1" -I -c '
import errno, subprocess, sys
try:
    run = subprocess.run([sys.argv[1], "-I", "-c", ""], user=65534, group=65534, extra_groups=[], stderr=-3)
except OSError as error:
    sys.exit(error.errno not in (errno.EPERM, errno.EINVAL))
sys.exit(run.returncode != 0)' "$1" </dev/null
}

# inspect PYTHON: ask, and when others cannot use it, why names what is closed to them.
inspect() {
  local closed
  ask "$1" || return 1
  closed=$(unreadable "$python")
  [[ -n $closed ]] || closed=$(unreadable "$stdlib")
  if [[ -n $closed ]]; then
    why="other users cannot read $closed"
  elif is_root && ! runs_for_others "$python"; then
    why="other users cannot run it: a library that it needs is closed to them"
  fi
}

is_root() { [[ $EUID -eq 0 ]]; }

# choose_python: sets python and version to the first that other users can read. Without root nobody can start a process
# as another user anyway, so there a private one is better than none.
choose_python() {
  local candidate seen=$'\n' private="" passed_over=""
  while IFS= read -r candidate; do
    [[ $seen != *$'\n'"$candidate"$'\n'* ]] || continue
    seen+=$candidate$'\n'
    if inspect "$candidate"; then
      if [[ -z $why ]]; then return; fi
      private=${private:-$candidate}
    fi
    passed_over+="  $candidate: $why"$'\n'
  done <<<"$(candidates)" # a bare chroot has no /dev/fd for <(...)
  if [[ -n $private ]] && ! is_root; then
    inspect "$private" || true
    say "note: $why; that is enough without root, where grading is not isolated by user"
    return
  fi
  if [[ -n $passed_over ]]; then printf 'setup: passed over:\n%s' "$passed_over" >&2; fi
  return 1
}

# --- The virtual environment -----------------------------------------------------------------------------------------

# same_python VENV: whether it was made with the PYTHON that the user asks for, if any.
same_python() {
  local wanted
  [[ -n ${PYTHON:-} ]] || return 0
  ask "$PYTHON" || return 1
  wanted=$python
  ask "$1/bin/python" && [[ $python == "$wanted" ]]
}

# make_venv VENV: a virtual environment that runs, has pip, was not left half-made, and that other users can read.
# Keeps one that is so already; a PYTHON that the user asks for must be the one it was made with.
make_venv() {
  local venv=$1
  [[ ! -e $venv || -d $venv ]] || die "$venv is in the way: move it away and run setup.sh again"
  if [[ ! -e $venv/.unfinished ]] && inspect "$venv/bin/python" && { [[ -z $why ]] || ! is_root; } &&
    "$venv/bin/python" -I -c 'import pip' 2>/dev/null && same_python "$venv"; then
    return
  fi
  choose_python || die "install a Python 3.10 to 3.14 for all users (Debian and Ubuntu: apt-get install python3 python3-venv), or name one: PYTHON=/path/to/python3 bash setup.sh"
  say "making ${venv##*/} with $python ($version)"
  mkdir -p "$venv"
  : >"$venv/.unfinished"
  "$python" -m venv --clear "$venv" || die "$python could not make $venv: see the lines above"
  : >"$venv/.unfinished"
}

# install VENV ARGUMENTS...: pip, with our versions. A failure leaves things as they were: pip puts them back itself.
install() {
  local venv=$1
  shift
  "$venv/bin/python" -I -m pip install -qq --disable-pip-version-check --no-input --timeout 60 -c constraints.txt "$@" </dev/null
}

# BEGIN PYTORCH
# --- PyTorch, for the CPU --------------------------------------------------------------------------------------------

# A zip whose parts do without has this file without the lines between these marks.

# has_torch VENV: whether the version that requirements-torch.txt asks for is there.
has_torch() {
  "$1/bin/python" -I -c '
import sys
from importlib import metadata
wanted = [line.strip() for line in open("requirements-torch.txt") if line.startswith("torch==")]
try:
    found = "torch==" + metadata.version("torch").split("+")[0]
except metadata.PackageNotFoundError:
    found = ""
sys.exit(found not in wanted)'
}

# cuda_packages PYTHON REPORT: those packages in a report of `pip install --dry-run` that only a GPU needs.
cuda_packages() {
  "$1" -I -c '
import json, re, sys
with open(sys.argv[1], encoding="utf-8") as file:
    found = [(entry["metadata"]["name"], entry["metadata"]["version"]) for entry in json.load(file)["install"]]
for name, version in found:
    if re.match(r"(nvidia|cuda|triton|pytorch[-_]triton|rocm)", name.lower()) or re.search(r"\+(cu|rocm|xpu)", version):
        print(name)' "$2"
}

# find_uv VENV: sets uv to a uv that runs; fetches one into the throw-away folder when there is none.
find_uv() {
  for uv in "$1/bin/uv" "$(type -P uv || true)"; do
    if [[ -n $uv ]] && "$uv" --version >/dev/null 2>&1; then return; fi
  done
  make_scratch
  install "$1" --no-deps --target "$scratch/uv" uv >/dev/null 2>&1 || return 1
  uv=$scratch/uv/bin/uv
  "$uv" --version >/dev/null 2>&1
}

# no_torch REASON: collects why; always fails.
no_torch() {
  why_no_torch+="${why_no_torch:+; }$1"
  return 1
}

# torch_with_uv VENV: uv knows where PyTorch's CPU builds are. A dry run first, which fails at once where that place
# cannot be reached.
torch_with_uv() {
  local venv=$1 uv command
  find_uv "$venv" || no_torch "uv cannot be had" || return 1
  command=(--python "$venv/bin/python" --torch-backend cpu -c constraints.txt -r requirements-torch.txt)
  export UV_LINK_MODE=${UV_LINK_MODE:-copy}
  UV_HTTP_TIMEOUT=10 UV_HTTP_RETRIES=0 bounded 30 "$uv" pip install --dry-run "${command[@]}" >/dev/null 2>&1 </dev/null ||
    no_torch "uv cannot reach the CPU builds" || return 1
  UV_HTTP_TIMEOUT=60 bounded 1800 "$uv" pip install --quiet "${command[@]}" </dev/null || no_torch "uv failed"
}

# torch_with_pip VENV: what plain pip finds is several GB for a GPU on many systems. Only when its dry run lists no such
# package, it may go ahead. fast-deps reads what a wheel needs without fetching it.
torch_with_pip() {
  local venv=$1 cuda report
  make_scratch
  report=$scratch/report.json
  bounded 300 "$venv/bin/python" -I -m pip install -qq --disable-pip-version-check --no-input --dry-run --ignore-installed \
    --use-feature=fast-deps --report "$report" -c constraints.txt -r requirements-torch.txt >/dev/null 2>&1 </dev/null ||
    no_torch "pip finds none" || return 1
  cuda=$(cuda_packages "$venv/bin/python" "$report" 2>/dev/null) || no_torch "pip's report cannot be read" || return 1
  [[ -z $cuda ]] || no_torch "what pip finds is for a GPU" || return 1
  install "$venv" -r requirements-torch.txt || no_torch "pip failed"
}

# install_torch VENV: never fails. What could not be had is said, and noted in VENV/torch-missing for the grader.
install_torch() {
  local venv=$1 why_no_torch=""
  if ! has_torch "$venv"; then
    say "installing PyTorch for the CPU (about 900 MB on disk)"
    torch_with_uv "$venv" || torch_with_pip "$venv" || true
  fi
  if has_torch "$venv" && "$venv/bin/python" -I -c 'import torch'; then
    rm -f "$venv/torch-missing"
  else
    printf 'No CPU build of PyTorch here: %s.\n' "${why_no_torch:-it cannot be imported}" >"$venv/torch-missing"
    say "note: no CPU build of PyTorch here: ${why_no_torch:-it cannot be imported}"
    say "note: PyTorch items will say that the grader is incomplete"
  fi
}

# hint_at_torch VENV: how to try again.
hint_at_torch() {
  if [[ -e $1/torch-missing ]]; then say "note: without PyTorch; to try again: rm $1/torch-missing && bash setup.sh"; fi
}
# END PYTORCH

# --- Nothing to do? --------------------------------------------------------------------------------------------------

# stamp VENV: what the environment is made from. Another folder, Python or version of a file gives another stamp.
stamp() {
  ask "$1/bin/python" || true
  printf '%s\n' "$PWD" "$python" "$version"
  cksum setup.sh pyproject.toml constraints.txt requirements*.txt 2>/dev/null || true
  # BEGIN PYTORCH
  if [[ -e $1/torch-missing ]]; then printf 'no torch\n'; fi
  # END PYTORCH
}

is_done() {
  [[ -e $1/.stamp && ! -e $1/.unfinished ]] && [[ $(stamp "$1") == "$(<"$1/.stamp")" ]] && same_python "$1"
}

finish() {
  chmod -R go+rX "$1"
  stamp "$1" >"$1/.stamp"
  rm -f "$1/.unfinished"
}

# begin VENV: from here to `finish` it is half-made. `give_up` is for failures that left it as it was.
begin() { : >"$1/.unfinished"; }
give_up() {
  rm -f "$1/.unfinished"
  die "the packages could not be installed: see the lines above, check the network, and run setup.sh again"
}

# --- A clone ---------------------------------------------------------------------------------------------------------

in_clone() {
  local venv=$PWD/.venv closed
  if is_done "$venv"; then
    say "nothing to do"
    # BEGIN PYTORCH
    hint_at_torch "$venv"
    # END PYTORCH
    return
  fi
  make_venv "$venv"
  begin "$venv"
  say "installing packages (about 800 MB on disk)"
  # setuptools comes first, since it builds ours: without a build environment of its own nothing is fetched twice
  install "$venv" pip setuptools || give_up "$venv"
  install "$venv" --no-build-isolation -e ".[staff,dev]" || give_up "$venv"
  # BEGIN PYTORCH
  install_torch "$venv"
  hint_at_torch "$venv"
  # END PYTORCH
  finish "$venv"
  closed=$(unreadable "$PWD")
  if [[ -n $closed ]] && is_root; then
    say "note: other users cannot read $closed: isolated grading needs a clone in a folder that they can"
  fi
  say "done in $SECONDS s; next: .venv/bin/pytest"
}

# --- The Gradescope image --------------------------------------------------------------------------------------------

clean_apt() {
  apt-get clean
  rm -rf /var/lib/apt/lists/*
}

# system_packages ROOT: Python and its venv module, from the distribution, if no Python here will do.
system_packages() {
  if choose_python 2>/dev/null; then return; fi
  if [[ $1 == /autograder ]] && is_root && command -v apt-get >/dev/null; then
    say "installing python3 and python3-venv"
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -qq -y --no-install-recommends python3 python3-venv; } </dev/null >"$scratch/apt" 2>&1 ||
      { cat "$scratch/apt" >&2 && die "apt-get failed: see the lines above, and build the image again"; }
    clean_apt
  fi
  choose_python || die "choose a base image with Python 3.10 or newer (Gradescope: Configure Autograder, Ubuntu 22.04 or newer) and build again"
}

# open_to_all PATH: everybody may read it. closed_to_others PATH: hidden tests and solutions are for the grader alone.
open_to_all() { find "$1" \( -type d -exec chmod 0755 {} + \) -o \( -type f -exec chmod 0644 {} + \); }
closed_to_others() { find "$1" \( -type d -exec chmod 0700 {} + \) -o \( -type f -exec chmod 0600 {} + \); }

set_modes() {
  local path
  chmod 0755 "$1" .
  for path in autograder assignment.toml constraints.txt requirements*.txt; do
    if [[ -e $path ]]; then open_to_all "$path"; fi
  done
  for path in tests solutions secret; do
    if [[ -e $path ]]; then closed_to_others "$path"; fi
  done
  chmod 0755 setup.sh run_autograder
}

in_image() {
  local root=$1 venv=$1/venv closed
  # nothing is left in a cache: it would only make the image larger
  export PIP_NO_CACHE_DIR=1 UV_NO_CACHE=1
  set_modes "$root"
  if is_done "$venv"; then
    say "nothing to do"
    return
  fi
  make_scratch
  system_packages "$root"
  make_venv "$venv"
  begin "$venv"
  say "installing packages"
  install "$venv" -r requirements.txt || give_up "$venv"
  # BEGIN PYTORCH
  if [[ -e requirements-torch.txt ]]; then
    install "$venv" pip || give_up "$venv" # an old one downloads everything in a dry run
    install_torch "$venv"
  fi
  # END PYTORCH
  # compiled now, since the grader may not write here later
  "$venv/bin/python" -I -m compileall -q autograder || die "this zip does not fit $python ($version): build it again with autograder build"
  finish "$venv"
  for closed in "$(unreadable "$venv/bin/python")" "$(unreadable "$PWD/autograder")"; do
    [[ -z $closed ]] || ! is_root || die "other users cannot read $closed: student code could not run; use another AUTOGRADER_ROOT"
  done
  say "done in $SECONDS s"
}

# --- Where are we ----------------------------------------------------------------------------------------------------

main() {
  local here root=${AUTOGRADER_ROOT:-/autograder}
  trap at_exit EXIT
  here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
  case $(uname -s) in MINGW* | MSYS* | CYGWIN*) die "Windows cannot isolate student code: use WSL, and run bash setup.sh there" ;; esac
  cd "$here"
  if [[ -e pyproject.toml ]]; then # the zip has none
    in_clone
  elif [[ $here -ef $root/source ]]; then
    in_image "$(cd "$root" && pwd -P)"
  else
    die "this is the grader's zip, and its place is $root/source; to try it elsewhere: AUTOGRADER_ROOT=FOLDER bash FOLDER/source/setup.sh"
  fi
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then main "$@"; fi
