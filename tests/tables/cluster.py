"""A Slurm of one's own on this machine: a controller, two nodes and authentication, on loopback."""

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol")
NODES = ("first", "second")
CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock,cred_expire=5
SlurmctldPort={ports[0]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
KillWait=5
InactiveLimit=0
MaxArraySize=5
NodeName=first NodeHostname={host} Port={ports[1]} NodeAddr=127.0.0.1 CPUs=1 RealMemory=1000
NodeName=second NodeHostname={host} Port={ports[2]} NodeAddr=127.0.0.1 CPUs=1 RealMemory=1000
PartitionName=main Nodes=first,second Default=YES MaxTime=60 DefaultTime=10 State=UP
"""


def missing() -> str | None:
    """Why no Slurm can be started here; None if one can."""
    there = os.environ["PATH"] + os.pathsep + "/usr/sbin"
    absent = [name for name in PROGRAMS if shutil.which(name, path=there) is None]
    return f"no {', '.join(absent)} (packages munge, slurmctld, slurmd)" if absent else None


class Slurm:
    """Starts with its construction; ``environment`` is what its commands need."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "state").mkdir(parents=True)
        for node in NODES:
            (folder / f"spool.{node}").mkdir()
        key = folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(1024))
        folder.chmod(0o755)
        user = subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()
        host = socket.gethostname().split(".")[0]
        text = CONFIGURATION.format(host=host, user=user, folder=folder, ports=_free_ports(3))
        (folder / "slurm.conf").write_text(text)
        path = os.environ["PATH"] + os.pathsep + "/usr/sbin"
        self.environment = {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": path}
        self._processes: list[subprocess.Popen] = []
        self._start(
            "munged", "--foreground", "--force", f"--socket={folder}/munge.sock",
            f"--key-file={key}", f"--log-file={folder}/munged.log", "--num-threads=1",
            f"--pid-file={folder}/munged.pid", f"--seed-file={folder}/munged.seed",
        )  # fmt: skip
        self._until(lambda: (folder / "munge.sock").exists(), "munged")
        self._start("slurmctld", "-D", "-i")
        for node in NODES:
            self._start("slurmd", "-D", "-N", node)
        idle = ["idle"] * len(NODES)
        self._until(lambda: self.command("sinfo", "-hN", "-o", "%T").split() == idle, "slurmd")

    def _start(self, *command: str) -> None:
        with (self.folder / f"{command[0]}.out").open("a") as output:
            process = subprocess.Popen(
                command, env=os.environ | self.environment, stdout=output, stderr=output
            )
        self._processes.append(process)

    def _until(self, holds, name: str) -> None:
        end = time.monotonic() + 60
        while not holds():
            said = (self.folder / f"{name}.out").read_text()
            assert time.monotonic() < end, f"{name} does not start: {said}"
            time.sleep(0.2)

    def command(self, *words: str) -> str:
        environment = os.environ | self.environment
        return subprocess.run(words, capture_output=True, text=True, env=environment).stdout

    def stop(self) -> None:
        self.command("scancel", "--user", self.command("id", "-un").strip())
        time.sleep(1)
        for process in reversed(self._processes):
            process.terminate()
        for process in reversed(self._processes):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
