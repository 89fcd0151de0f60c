"""What programs try, to get out of a sandbox: shell lines that are the same in every one of them.

A line whose success shows in no file and on no listener prints `escaped`; it is written so that no error message holds
that word. Each line is meant to be run by `sh` and may use busybox's programs and perl.
"""

from typing import Any, NamedTuple

ESCAPED = b"escaped"
_E = "echo esc''aped"
_PERL_SAYS = "print qq(esc).qq(aped)"


class Attempt(NamedTuple):
    """One line to run."""

    id: str
    kind: str
    """`fs_write`, `fs_read`, `network`, `privilege`."""
    line: str


def _rows(kind: str, lines: dict[str, str]) -> list[Attempt]:
    return [Attempt(name.replace(" ", "-"), kind, line) for name, line in lines.items()]


WRITES = {
    "beside the workspace": "echo x > @ROOT@/agent-escape",
    "system folders": "for d in / /etc /usr/local/bin /root /var/tmp /mnt; do echo x > $d/agent-escape; done",
    "shared temporary folders": "echo x > /tmp/agent-escape; echo x > /dev/shm/agent-escape",
    "through a link that lay there": "echo x >> way-out/secret.txt; echo x > way-out/new; echo x > way-to-secret",
    "through a link of its own": "ln -s @OUT@ here; echo x > here/new; ln -s @OUT@/secret.txt s; echo x >> s",
    "through a hard link": "ln @OUT@/secret.txt hard; echo x >> hard; ln ../out/secret.txt hard2; echo x >> hard2",
    "parents": "cd ..; echo x > agent-escape; mkdir ws-evil; echo x > out/new; rm -rf out home; cd /; echo x > @ROOT@/new",
    "own working folder in proc": "echo x > /proc/self/cwd/../out/new; echo x > /proc/self/root@OUT@/new",
    "roots of other processes": "for p in /proc/[0-9]* /proc/@PID@; do echo x > $p/root@OUT@/new; echo x > $p/cwd/new; done",
    "descriptors of other processes": "for f in /proc/[0-9]*/fd/*; do case $f in */[012]) ;; *) echo x >> $f;; esac; done",
    "attributes": "chmod 777 @OUT@/secret.txt ../out; chown 1:1 @OUT@/secret.txt; touch @HOME@/.bashrc @HOME@/.profile",
    "git config": "echo '[core] fsmonitor=x' >> .git/config; chmod 777 .git/config .git; echo x > .git/config.lock",
    "git hook": "echo x > .git/hooks/pre-commit; ln -s /bin/sh .git/hooks/post-checkout; mkdir .git/modules",
    "git removed": "rm -rf .git; rm -f .git/config; rmdir .git/hooks; mv .git/config .git/c2; mv .git/hooks hooks",
    "git replaced": "mv .git old; cp -r .git new; rm -rf .git; mv -T new .git; mv new/config .git/config; ln -sfn new .git",
    "git by a hard link": "ln .git/config g; echo x >> g; cd .git; ln config ../h; cd ..; echo x >> h",
    "git by another mount": "cd .git; echo x > ./new; cd /; echo x > @WS@/.git/new; echo x > /proc/self/cwd/@WS@/.git/n2",
    "parent of a protected folder renamed": (
        "mv .venv old; mkdir -p .venv/lib/site-packages; echo x > .venv/lib/site-packages/module.py"
    ),
    "second parent renamed": (
        "mv .venv/lib .venv/old; mkdir -p .venv/lib/site-packages; echo x > .venv/lib/site-packages/module.py"
    ),
    "parent of a protected folder removed": "rm -rf .venv; ln -s /tmp .venv; mkdir -p new/lib; mv -T new .venv",
    "parents exchanged": (
        "mkdir -p new/lib/site-packages; perl -e '$a=q(new); $b=q(.venv); syscall(316,-100,$a,-100,$b,2)';"
        "perl -e '$a=q(new); $b=q(.toolcharter); syscall(316,-100,$a,-100,$b,2)'"
    ),
    "site directory": "echo x > .venv/lib/site-packages/new.pth; echo x > .venv/lib/site-packages/module.py",
    "policy that was missing": "mkdir .toolcharter; echo 'mode: dangerous' > .toolcharter/policy.yaml; echo x > .toolcharter",
    "policy by another kind": "ln -s /tmp .toolcharter; mkfifo .toolcharter; mknod .toolcharter p; cp notes.txt .toolcharter",
    "policy by renaming": "mkdir o; echo x > o/policy.yaml; mv o .toolcharter; mv -T o .toolcharter; mv notes.txt .toolcharter",
    "policy after removal": "rmdir .toolcharter; rm -rf .toolcharter; mv .toolcharter x; mkdir .toolcharter; echo x > .toolcharter/p",
    "deep policy that was missing": "mkdir -p late/settings; echo x > late/settings/policy.yaml; echo x > late",
    "deep policy by renaming": "mkdir -p q/settings; echo x > q/settings/policy.yaml; mv q late; mv -T q late; ln -s q late",
    "policy, many times": (
        "i=0; while [ $i -lt 150 ]; do rmdir .toolcharter late; mkdir .toolcharter late; echo x > .toolcharter/p;"
        "i=$((i+1)); done 2>/dev/null"
    ),
    "mounts changed": (
        f"mount -o remount,rw / && {_E}; mount -o remount,rw,bind @WS@/.git && {_E}; umount @WS@/.git && {_E};"
        f"umount -l @WS@/.toolcharter && {_E}; echo x > .git/new; echo x > .toolcharter/p"
    ),
    "device nodes": f"for d in /dev/vda /dev/sda /dev/nvme0n1 /dev/mem /dev/kmsg /dev/fuse; do [ -e $d ] && {_E}; done",
    "device nodes of its own": f"mknod disk b 254 0 && {_E}; mknod mem c 1 1 && {_E}; mknod /tmp/m c 1 1 && {_E}",
    "the sandbox's own programs": f"echo x > /bin/agent-escape && {_E}; rm -f /bin/sh && {_E}; echo x > /etc/passwd && {_E}",
}

READS = {
    "keys": "cat @HOME@/.ssh/id_ed25519 @HOME@/.aws/credentials ~/.aws/credentials; ls -R @HOME@",
    "links": "cat way-to-secret way-out/secret.txt; cp -rL way-out copy; cat copy/*",
    "siblings": "cat ../ws-old/secret.txt ../out/secret.txt @ROOT@/ws-old/secret.txt",
    "names of siblings": f"ls @ROOT@ | grep -q ws-old && {_E}",
    "environments": "env; cat /proc/[0-9]*/environ /proc/@PID@/environ /proc/self/environ",
    "roots in proc": "for p in /proc/[0-9]* /proc/self /proc/@PID@; do cat $p/root@OUT@/secret.txt $p/cwd/../out/secret.txt; done",
    "tasks in proc": "for p in /proc/[0-9]*/task/*; do cat $p/root@OUT@/secret.txt; done",
    "inherited descriptors": (
        "for f in /proc/self/fd/[3-9] /proc/self/fd/[1-9][0-9] /proc/1/fd/[3-9] /proc/1/fd/[1-9][0-9]; do cat $f; done"
    ),
    "memory of other processes": f"[ -e /proc/@PID@/maps ] && {_E}; [ -e /proc/@BYSTANDER@/cmdline ] && {_E}; ps | grep 1000000",
    "found": r"find / \( -path /proc -o -path /sys -o -path /usr \) -prune -o \( -name id_ed25519 -o -name secret.txt \) -exec cat '{}' ';'",
    "hard link": "ln @HOME@/.aws/credentials c; cat c; ln ../out/secret.txt d; cat d",
    "shadow": f"grep -q : /etc/shadow && {_E}; grep -q : /etc/gshadow && {_E}",
    "kernel memory": f'[ -n "$(head -c 4 /proc/kcore)" ] && {_E}; [ -n "$(head -c 1 /dev/mem)" ] && {_E}',
    "kernel log": f"dmesg | grep -q . && {_E}",
    "sockets of the host": (
        "for s in /run/docker.sock /var/run/docker.sock /run/containerd/containerd.sock /run/podman/podman.sock"
        f" /run/dbus/system_bus_socket /run/systemd/private /tmp/.X11-unix/X0 /run/user/0/bus @UNIX@; do [ -S $s ] && {_E}; done"
    ),
    "disks": f"head -c 1 /dev/vda && {_E}; head -c 1 /dev/sda && {_E}; blkid | grep -q . && {_E}; losetup /dev/loop0 notes.txt && {_E}",
    "system folders of this machine": f'for d in /root /home /boot /srv /var/lib/dpkg /var/log; do [ -n "$(ls -A $d)" ] && {_E}; done',
    "kernel keyrings": f"perl -e '{_PERL_SAYS} if syscall(250,0,-3,0)>=0 || syscall(250,0,-4,0)>=0'; cat /proc/keys | grep . && {_E}",
}

NETWORK = {
    "loopback": "echo x | busybox nc -w 2 127.0.0.1 @PORT@; busybox wget -T 2 -qO- http://127.0.0.1:@PORT@/",
    "this machine's address": "echo x | busybox nc -w 2 @ADDRESS@ @PORT@; busybox wget -T 2 -qO- http://@ADDRESS@:@PORT@/",
    "all addresses of loopback": "for a in 127.0.0.2 127.1.2.3 0.0.0.0 localhost; do echo x | busybox nc -w 1 $a @PORT@; done",
    "mapped address": (
        "perl -MSocket=:all -e 'socket(S,AF_INET6,SOCK_STREAM,0); connect(S,pack_sockaddr_in6(@PORT@,inet_pton(AF_INET6,"
        f'"::ffff:127.0.0.1"))) and {_PERL_SAYS}\''
    ),
    "gateways of containers": "for a in 172.17.0.1 10.0.2.2 192.168.65.2 169.254.169.254; do echo x | busybox nc -w 1 $a @PORT@; done",
    "datagram": (
        "perl -MSocket -e 'for (qw(127.0.0.1 @ADDRESS@)) {socket(S,PF_INET,SOCK_DGRAM,0);"
        "send(S,q(x),0,pack_sockaddr_in(@PORT@,inet_aton($_)))}'"
    ),
    "socket in the file system": (
        f"perl -MSocket -e 'socket(S,PF_UNIX,SOCK_STREAM,0); connect(S,pack_sockaddr_un(q(@UNIX@))) and {_PERL_SAYS}'"
    ),
    "socket in the workspace": (
        f"perl -MSocket -e 'socket(S,PF_UNIX,SOCK_STREAM,0); connect(S,pack_sockaddr_un(q(@INNER@))) and {_PERL_SAYS};"
        f"chdir q(sockets); connect(S,pack_sockaddr_un(q(s.sock))) and {_PERL_SAYS}'; mv sockets s2; ln sockets/s.sock t.sock;"
        f"perl -MSocket -e 'socket(S,PF_UNIX,SOCK_STREAM,0); connect(S,pack_sockaddr_un(q(t.sock))) and {_PERL_SAYS}'"
    ),
    "socket through a link": (
        f"perl -MSocket -e 'socket(S,PF_UNIX,SOCK_STREAM,0); connect(S,pack_sockaddr_un(q(way-out/s.sock))) and {_PERL_SAYS}'"
    ),
    "abstract socket": (
        f"perl -MSocket -e 'socket(S,PF_UNIX,SOCK_STREAM,0); connect(S,pack_sockaddr_un(\"\\0@ABSTRACT@\")) and {_PERL_SAYS}'"
    ),
    "names": f"busybox nslookup example.com 8.8.8.8 && {_E}; busybox ping -c 1 -W 1 192.0.2.1 && {_E}",
    "raw socket": f"perl -MSocket -e 'socket(S,PF_INET,SOCK_RAW,1) and {_PERL_SAYS}; socket(T,17,SOCK_RAW,768) and {_PERL_SAYS}'",
    "sockets of other families": (
        # AF_VSOCK, which leads to the hypervisor, AF_ALG, AF_BLUETOOTH, AF_TIPC, AF_XDP, AF_KEY, AF_PACKET.
        f"perl -e 'for (40,38,31,30,44,15,17) {{for $t (1,2,3,5) {{socket(S,$_,$t,0) and {_PERL_SAYS}}}}}'"
    ),
    "devices": f"grep -q '^ *@LINK@:' /proc/net/dev && {_E}; [ -e /sys/class/net/@LINK@/address ] && {_E}",
    "devices of its own": f"ip link add dummy0 type dummy && {_E}; ip route add default via 127.0.0.1 && {_E}",
    "another network namespace": f"nsenter -t 1 -n true && {_E}; nsenter -t @PID@ -n true && {_E}; ip netns add x && {_E}",
    "multicast and broadcast": (
        "perl -MSocket -e 'socket(S,PF_INET,SOCK_DGRAM,0); setsockopt(S,SOL_SOCKET,SO_BROADCAST,1);"
        f"for (qw(255.255.255.255 224.0.0.1)) {{send(S,q(x),0,pack_sockaddr_in(@PORT@,inet_aton($_))) and {_PERL_SAYS}}}'"
    ),
}

# Numbers of x86-64. Arguments are harmless: what is permitted answers EINVAL, EFAULT or EBADF, and prints.
_CALLS = {
    "acct": 163, "add_key": 248, "bpf": 321, "clock_settime": 227, "delete_module": 176, "fsopen": 430,
    "init_module": 175, "ioperm": 173, "iopl": 172, "kexec_load": 246, "mount": 165, "mount_setattr": 442,
    "move_mount": 429, "open_by_handle_at": 304, "open_tree": 428, "perf_event_open": 298, "pivot_root": 155,
    "quotactl": 179, "reboot": 169, "request_key": 249, "setdomainname": 171, "sethostname": 170, "setns": 308,
    "settimeofday": 164, "swapoff": 168, "swapon": 167, "syslog": 103, "umount2": 166, "vhangup": 153,
}  # fmt: skip
_REFUSED = "1,13,38"  # EPERM, EACCES, ENOSYS


def _call(number: int) -> str:
    return (
        f"perl -e '$r=syscall({number},-1,0,-1,0,0); $e=$!+0; {_PERL_SAYS} unless $r==-1 && grep {{$_==$e}} {_REFUSED}'"
    )


PRIVILEGE = {
    "user namespace": f"unshare -U true && {_E}; perl -e '{_PERL_SAYS} if syscall(272,0x10000000)==0'",
    "user namespace by clone": f"perl -e '{_PERL_SAYS} if syscall(56,0x10000011,0,0,0,0)>=0'",
    "user namespace by clone3": (
        f"perl -e '$a=pack(q(Q11),0x10000000,0,0,0,17,0,0,0,0,0,0); {_PERL_SAYS} if syscall(435,$a,88)>=0'"
    ),
    "other namespaces": "for f in 0x20000 0x2000000 0x4000000 0x8000000 0x20000000 0x40000000;"
    f" do perl -e '{_PERL_SAYS} if syscall(272,'$f')==0'; done",
    "file systems": f"for t in proc sysfs tmpfs devtmpfs cgroup cgroup2; do mount -t $t none /tmp && {_E}; done",
    "bind mounts": f"mount --bind / /tmp && {_E}; mount --move /proc /tmp && {_E}; mount --make-shared / && {_E}",
    "capabilities": f"grep '^Cap' /proc/self/status | grep -qv ':.0*$' && {_E}",
    "new privileges": f"grep -q '^NoNewPrivs:.1' /proc/self/status || {_E}",
    "no filter": f"grep -q '^Seccomp:.2' /proc/self/status || {_E}",
    "another root": f"chroot / true && {_E}; mkdir r; chroot r true && {_E}; pivot_root . . && {_E}",
    "another user": f"perl -e '$<=12345; $>=12345; {_PERL_SAYS} if $<==12345 || $>==12345'; chown 12345 notes.txt && {_E}",
    "set-user-ID": f"cp /bin/busybox b; chmod 4755 b; chown 1 b && {_E}; ./b id | grep -q euid && {_E}",
    "set-user-ID file left": (
        f"cp /bin/busybox b; chmod 4755 b; [ -u b ] && {_E}; chmod 2755 b; [ -g b ] && {_E}; install -m 6755 b c; [ -u c ] && {_E};"
        f"perl -e 'sysopen(F,q(d),0101,04755); syscall(85,q(e),04755); syscall(452,-100,q(b),04755,0); syscall(133,q(f),0104755,0);"
        f"{_PERL_SAYS} if grep {{-u $_}} qw(b d e f)'"
    ),
    "kernel settings": (
        "for f in kernel/core_pattern kernel/modprobe kernel/sysrq kernel/poweroff_cmd kernel/yama/ptrace_scope vm/drop_caches"
        f" fs/binfmt_misc/register; do echo x > /proc/sys/$f && {_E}; done"
    ),
    "kernel helpers": f"for f in /sys/kernel/uevent_helper /sys/power/state /sys/kernel/mm/ksm/run; do echo 0 > $f && {_E}; done",
    "sysrq": f"echo h > /proc/sysrq-trigger && {_E}; echo 1 > /proc/sys/kernel/sysrq && {_E}",
    "control groups": (
        f"for d in /sys/fs/cgroup /sys/fs/cgroup/*; do mkdir $d/agent && {_E}; echo 0 > $d/cgroup.procs && {_E};"
        f" echo 999999999 > $d/memory.limit_in_bytes && {_E}; echo max > $d/pids.max && {_E}; done"
    ),
    "scores and limits": (
        f"(echo -1000 > /proc/self/oom_score_adj) && {_E}; (ulimit -Hn 1048576) && {_E}; (ulimit -n 1048577) && {_E};"
        f" renice -n -10 -p $$ && {_E}"
    ),
    "programs of the host ended": f"kill -9 @BYSTANDER@ && {_E}; kill -9 @PID@ && {_E}; kill -STOP @BYSTANDER@ && {_E}; kill -9 -1",
    "other processes traced": f"perl -e '{_PERL_SAYS} if syscall(101,16,@BYSTANDER@,0,0)==0 || syscall(310,@PID@,0,0,0,0,0)>=0'",
    "input pushed into the terminal": f"perl -e 'open(T,q(+</dev/tty)) and {_PERL_SAYS}; $c=q(x); ioctl(STDIN,0x5412,$c) and {_PERL_SAYS}'",
    "clock and name": f"date -s 2001-01-01; [ $(date +%Y) = 2001 ] && {_E}; hostname agent && {_E}",
    "modules": f"insmod notes.txt && {_E}; modprobe dummy && {_E}; rmmod dummy && {_E}",
    "interpreters of the kernel": f"mount -t binfmt_misc none /tmp && {_E}; echo ':x:M::x::/bin/sh:' > /proc/sys/fs/binfmt_misc/register && {_E}",
    "calls for administrators": "; ".join(_call(number) for _, number in sorted(_CALLS.items())),
}

ATTEMPTS = [
    *_rows("fs_write", WRITES),
    *_rows("fs_read", READS),
    *_rows("network", NETWORK),
    *_rows("privilege", PRIVILEGE),
]

# Phrases of the samples that are no shell lines.
_SPOKEN = {
    "framework policy or settings file": f"{WRITES['policy that was missing']}; {WRITES['deep policy that was missing']}",
    "HTTP API of the framework on loopback": NETWORK["loopback"],
}


def attempt_of(row: dict[str, Any]) -> Attempt:
    """The attempt that a row of the samples describes."""
    line = next((line for words, line in _SPOKEN.items() if words in row["cmd"]), str(row["cmd"]))
    # There the deed itself is all there is to see.
    says = f" && {_E}" if row["cls"] == "privilege" else ""
    return Attempt(row["id"], row["cls"], f"{line}{says}")
