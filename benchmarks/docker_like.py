"""Run a command under the restrictions of an ordinary container, without a container.

Docker's default system call profile, its 14 default capabilities, and namespaces of its own for processes, mounts,
the network and IPC. As root on Linux:

    unshare --pid --mount --net --ipc --fork --mount-proc \\
        PYTHON benchmarks/docker_like.py PROFILE COMMAND...

PROFILE is Moby's ``profiles/seccomp/default.json``. PYTHON needs ``pyseccomp`` and the system's libseccomp, which are
no dependencies of the grader (a virtual environment of its own will do); ``capsh`` comes with libcap. Not imitated:
AppArmor, the read-only /sys/fs/cgroup, and the kernel of the real host. ``docs/containers.md`` has the figures.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

CAPABILITIES = (
    "chown dac_override fsetid fowner mknod net_raw setgid setuid setfcap setpcap net_bind_service sys_chroot kill "
    "audit_write"
).split()
ARCHITECTURES = {"x86_64": {"amd64", "x86_64"}, "aarch64": {"arm64", "aarch64"}}


def applicable(profile: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The rules that hold for a container with the default capabilities on this architecture."""
    ours = {f"CAP_{name.upper()}" for name in CAPABILITIES}
    machine = ARCHITECTURES[platform.machine()]
    for rule in profile["syscalls"]:
        includes, excludes = rule.get("includes", {}), rule.get("excludes", {})
        wants, refuses = set(includes.get("caps", ())), set(excludes.get("caps", ()))
        arches = set(includes.get("arches", ()))
        if (wants and not wants & ours) or refuses & ours or (arches and not arches & machine):
            continue
        yield rule


def install(profile: Mapping[str, Any]) -> list[str]:
    """Filter this process's system calls by a profile. Returns the calls that this libseccomp does not know."""
    import pyseccomp as seccomp

    otherwise = profile.get("defaultErrnoRet", 1)
    filter_ = seccomp.SyscallFilter(seccomp.ERRNO(otherwise))
    filter_.set_attr(seccomp.Attr.CTL_NNP, 0)  # as in a container: its programs may still gain privileges
    unknown = []
    for rule in applicable(profile):
        error = rule.get("errnoRet", 1)
        if rule["action"] == "SCMP_ACT_ERRNO" and error == otherwise:
            continue
        action = seccomp.ALLOW if rule["action"] == "SCMP_ACT_ALLOW" else seccomp.ERRNO(error)
        arguments = [
            seccomp.Arg(
                test["index"],
                getattr(seccomp, test["op"].removeprefix("SCMP_CMP_")),
                test["value"],
                test.get("valueTwo", 0),
            )
            for test in rule.get("args") or ()
        ]
        for name in rule["names"]:
            try:
                filter_.add_rule(action, name, *arguments)
            except (OSError, RuntimeError, ValueError):
                unknown.append(name)
    filter_.load()
    return unknown


def main(arguments: list[str]) -> None:
    """Restrict this process and become the command."""
    if len(arguments) < 2:
        sys.exit(__doc__)
    unknown = install(json.loads(Path(arguments[0]).read_text(encoding="utf-8")))
    if unknown:
        sys.stderr.write(f"not in this libseccomp: {' '.join(sorted(set(unknown)))}\n")
    bounding = subprocess.run(["capsh", "--print"], capture_output=True, text=True, check=True).stdout
    (line,) = [line for line in bounding.splitlines() if line.startswith("Bounding set =")]
    all_of_them = line.partition("=")[2].split(",")
    dropped = [name for name in all_of_them if name and name.removeprefix("cap_") not in CAPABILITIES]
    command = ["capsh", f"--drop={','.join(dropped)}", "--inh=", "--", "-c", 'exec "$@"', "sh", *arguments[1:]]
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
