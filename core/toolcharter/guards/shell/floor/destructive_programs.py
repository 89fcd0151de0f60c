"""Programs that destroy disks or disable the system, and the words that make them harmless or harmful.

Sources: the manuals of util-linux 2.39, e2fsprogs 1.47, parted 3.6, gdisk 1.0, hdparm 9.65, nvme-cli 2, cryptsetup 2.6,
LVM 2.03, mdadm 4.2, OpenZFS 2.2, btrfs-progs 6, systemd 252, kmod 30, procps 4, iptables 1.8, nftables 1.0, ufw 0.36,
iproute2 6, shadow 4.13, diskutil(8) of macOS, and the command reference of Windows.
"""

from typing import NamedTuple

DESTROYS_DISK = "destroys a disk"
DISABLES_SYSTEM = "takes the system away"


class Rule(NamedTuple):
    """The words with which a program is catastrophic."""

    why: str
    when: frozenset[str] = frozenset()
    """One of these words must occur, in any case; a word that ends with `*` is a prefix. Empty: no word is needed."""
    unless: frozenset[str] = frozenset()
    """None of these words may occur."""


_HELP = frozenset({"--help", "--version", "-v", "-?", "help", "version"})


def _rules_for(why: str, programs: str, when: str = "", unless: str = "") -> dict[str, Rule]:
    rule = Rule(why, frozenset(when.split()), frozenset(unless.split()) | (frozenset() if when else _HELP))
    return dict.fromkeys(programs.split(), rule)


PROGRAM_RULES: dict[str, Rule] = {
    # Disks
    **_rules_for(DESTROYS_DISK, "fdisk cfdisk gdisk sgdisk cgdisk fixparts", unless="-l -p -s -i -x -L --list --print --info -h -V"),
    **_rules_for(DESTROYS_DISK, "sfdisk", unless="-l -d -J -F -s --list --dump --json --list-free --show-size -h -V"),
    **_rules_for(DESTROYS_DISK, "parted", unless="-l --list print unit free -h -v"),
    **_rules_for(DESTROYS_DISK, "wipefs", when="-a* --all -o* --offset* -fa -af -qa"),
    **_rules_for(DESTROYS_DISK, "blkdiscard nwipe dban scrub partprobe resizepart delpart nvmeformat"),
    **_rules_for(
        DESTROYS_DISK,
        "hdparm",
        when="--security-erase* --trim-sector* --write-sector* --make-bad-sector* --repair-sector* --dco-* -y -Y -N* "
        "--sanitize-* --yes-i-know-what-i-am-doing --please-destroy-my-drive --security-set-pass* --fwdownload*",
    ),
    **_rules_for(DESTROYS_DISK, "nvme", when="format sanitize write-zeroes dsm delete-ns write-uncor fw-download fw-commit write"),
    **_rules_for(DESTROYS_DISK, "flashrom", when="-w* --write* -e* --erase*"),
    **_rules_for(DESTROYS_DISK, "mtd_debug", when="erase write"),
    **_rules_for(DESTROYS_DISK, "sg_format sg_sanitize sg_write_same sg_unmap"),
    **_rules_for(
        DESTROYS_DISK,
        "cryptsetup",
        when="luksformat lukserase erase luksremovekey lukskillslot luksheaderrestore reencrypt create plainopen close "
        "luksclose remove wipefs luksaddkey lukschangekey",
    ),
    **_rules_for(DESTROYS_DISK, "lvremove vgremove pvremove lvreduce vgreduce pvcreate vgcfgrestore vgexport pvmove lvresize"),
    **_rules_for(DESTROYS_DISK, "lvm", when="lvremove vgremove pvremove lvreduce vgreduce pvcreate"),
    **_rules_for(DESTROYS_DISK, "mdadm", when="--zero-superblock --stop -s --create -c --fail -f --remove -r --grow"),
    **_rules_for(DESTROYS_DISK, "zpool", when="destroy labelclear create offline detach remove split"),
    **_rules_for(DESTROYS_DISK, "zfs", when="destroy rollback"),
    **_rules_for(DESTROYS_DISK, "btrfs", when="delete remove del rm"),
    **_rules_for(DESTROYS_DISK, "dmsetup", when="remove* wipe_table suspend create load"),
    **_rules_for(DESTROYS_DISK, "badblocks", when="-w* -ws* -svw* -wsv* -wvs* -sw* -vw*"),
    **_rules_for(DESTROYS_DISK, "debugfs", when="-w*"),
    **_rules_for(DESTROYS_DISK, "losetup", when="-D --detach-all"),
    **_rules_for(DESTROYS_DISK, "xfs_db xfs_repair reiserfstune fsfreeze", when="-x -l -f --freeze"),
    **_rules_for(DESTROYS_DISK, "diskutil", when="erase* partitiondisk reformat zerodisk randomdisk secureerase deletecontainer"),
    **_rules_for(DESTROYS_DISK, "diskutil-apfs", when="delete*"),
    **_rules_for(DESTROYS_DISK, "asr", when="--erase"),
    **_rules_for(DESTROYS_DISK, "diskpart clear-disk format-volume initialize-disk remove-partition reset-physicaldisk wbadmin"),
    **_rules_for(DESTROYS_DISK, "vssadmin", when="delete"),
    **_rules_for(DESTROYS_DISK, "bcdedit", when="/delete* /set* /export*"),
    **_rules_for(DESTROYS_DISK, "fsutil", when="setzerodata dismount"),
    **_rules_for(DESTROYS_DISK, "cipher sdelete", when="/w* -z -c -s"),
    # System
    **_rules_for(DISABLES_SYSTEM, "shutdown", unless="-c --show /a"),
    **_rules_for(DISABLES_SYSTEM, "reboot halt poweroff", unless="-w --wtmp-only"),
    **_rules_for(DISABLES_SYSTEM, "kexec killall5 rmmod insmod stop-computer restart-computer pm-suspend pm-hibernate s2ram s2disk"),
    **_rules_for(DISABLES_SYSTEM, "systemctl", when=" ".join(
        verb + suffix
        for verb in ("poweroff", "reboot", "halt", "kexec", "suspend", "hibernate", "hybrid-sleep", "rescue",
                     "emergency", "isolate", "soft-reboot", "suspend-then-hibernate", "exit", "default", "switch-root")
        for suffix in ("", ".target")
    ), unless="status show cat list-units list-dependencies is-active is-enabled help list-unit-files is-failed"),
    **_rules_for(DISABLES_SYSTEM, "loginctl", when="poweroff reboot halt suspend hibernate terminate-* kill-*"),
    **_rules_for(DISABLES_SYSTEM, "swapoff", when="-a* --all /*"),
    **_rules_for(DISABLES_SYSTEM, "modprobe", unless="-n --dry-run --show-depends -c --showconfig -d --dump-modversions --show"),
    **_rules_for(DISABLES_SYSTEM, "setenforce", when="0 permissive"),
    **_rules_for(DISABLES_SYSTEM, "iptables ip6tables iptables-legacy iptables-nft", when="-f --flush -x --delete-chain drop"),
    **_rules_for(DISABLES_SYSTEM, "nft", when="flush delete destroy"),
    **_rules_for(DISABLES_SYSTEM, "ufw", when="disable reset"),
    **_rules_for(DISABLES_SYSTEM, "firewall-cmd", when="--panic-on --complete-reload"),
    **_rules_for(DISABLES_SYSTEM, "pfctl", when="-d -f*"),
    **_rules_for(DISABLES_SYSTEM, "netsh", when="reset off disable delete"),
    **_rules_for(DISABLES_SYSTEM, "ifdown"),
    **_rules_for(DISABLES_SYSTEM, "ifconfig", when="down", unless="up"),
    **_rules_for(DISABLES_SYSTEM, "nmcli", when="off disconnect delete down"),
    **_rules_for(DISABLES_SYSTEM, "rfkill", when="block"),
    **_rules_for(DISABLES_SYSTEM, "route", when="del delete flush"),
    **_rules_for(DISABLES_SYSTEM, "userdel deluser groupdel delgroup chpasswd vipw vigr pwconv pwunconv"),
    **_rules_for(DISABLES_SYSTEM, "visudo", unless="-c --check -cf -cq -cs -csq -h -V -x --export"),
    **_rules_for(DISABLES_SYSTEM, "useradd adduser", when="-o --non-unique -ou*"),
    **_rules_for(DISABLES_SYSTEM, "usermod", when="-l --lock -L -e --expiredate -u --uid"),
    **_rules_for(DISABLES_SYSTEM, "passwd", when="root -d -l --delete --lock -e --expire", unless="-S --status"),
    **_rules_for(DISABLES_SYSTEM, "auditctl", when="-D -e"),
    **_rules_for(DISABLES_SYSTEM, "aa-teardown aa-disable aa-complain", unless=""),
    **_rules_for(DISABLES_SYSTEM, "crontab", when="-r* -ir -ri"),
    **_rules_for(DISABLES_SYSTEM, "ipmitool", when="off cycle reset soft"),
    **_rules_for(DISABLES_SYSTEM, "rtcwake", when="-m* --mode*", unless="-mno no on show disable"),
    **_rules_for(DISABLES_SYSTEM, "busctl dbus-send gdbus qdbus", when="*poweroff *reboot *halt *suspend *hibernate *kexec"),
    **_rules_for(DISABLES_SYSTEM, "initctl", when="stop emit"),
    **_rules_for(DISABLES_SYSTEM, "hwclock", when="-w --systohc --set"),
    **_rules_for(DISABLES_SYSTEM, "timedatectl", when="set-time"),
    **_rules_for(DISABLES_SYSTEM, "pivot_root switch_root"),
    **_rules_for(DISABLES_SYSTEM, "dpkg", when="--force-all --force-remove-essential --force-remove-reinstreq"),
    **_rules_for(DISABLES_SYSTEM, "taskkill", when="* csrss.exe winlogon.exe lsass.exe wininit.exe smss.exe services.exe svchost.exe"),
    **_rules_for(DISABLES_SYSTEM, "wmic", when="reboot shutdown delete call"),
    **_rules_for(DISABLES_SYSTEM, "logoff tsdiscon"),
    **_rules_for(DISABLES_SYSTEM, "launchctl", when="reboot"),
    **_rules_for(DISABLES_SYSTEM, "csrutil", when="disable"),
    **_rules_for(DISABLES_SYSTEM, "spctl", when="--master-disable --global-disable"),
    **_rules_for(DISABLES_SYSTEM, "set-mppreference", when="-disable*"),
    **_rules_for(DISABLES_SYSTEM, "mokutil", when="--disable-validation --reset"),
    **_rules_for(DISABLES_SYSTEM, "efibootmgr", when="-B --delete-bootnum -O --delete-bootorder"),
    **_rules_for("deletes the record of what was done", "wevtutil", when="cl clear-log"),
    **_rules_for("deletes the record of what was done", "clear-eventlog"),
}  # fmt: skip

PARTITION_VERBS = frozenset({"mklabel", "mktable", "mkpart", "rm", "resizepart", "rescue", "name", "set", "toggle"})
FILE_SYSTEM_MAKERS = (
    "mkfs",
    "newfs",
    "mke2fs",
    "mkswap",
    "mkdosfs",
    "mkntfs",
    "mkreiserfs",
    "mkudffs",
    "make_f2fs",
    "mkbtrfs",
)
"""Programs that make a file system; also `mkfs.ext4`, `newfs_msdos`."""
IMAGE_SUFFIXES = (
    ".img",
    ".iso",
    ".raw",
    ".qcow2",
    ".bin",
    ".ext4",
    ".ext2",
    ".fat",
    ".vfat",
    ".squashfs",
    ".image",
    ".disk",
)
"""The suffixes of image files, in which people create file systems."""
KERNEL_HARMLESS = (
    *("kernel.perf_event_paranoid", "kernel.kptr_restrict", "kernel.yama", "kernel.unprivileged_userns_clone"),
    *("kernel.shm", "kernel.msg", "kernel.sem", "kernel.pid_max", "kernel.threads-max", "kernel.hostname"),
    *("kernel.dmesg_restrict", "kernel.sched", "kernel.printk"),
)
"""Settings of the kernel that developers change without harm."""
KERNEL_HARMFUL = ("kernel.", "vm.panic_on_oom", "vm.overcommit_memory=2", "fs.suid_dumpable", "fs.file-max=0")
VITAL_PROCESSES = frozenset(
    {"init", "systemd", "launchd", "kthreadd", "dbus-daemon", "systemd-logind", "systemd-journald", "systemd-udevd"}
    | {"sshd", "xorg", "gdm", "gdm3", "lightdm", "sddm", "gnome-shell", "networkmanager", "dockerd"}
    | {"containerd", "bash", "sh", "udevd", ".", ".*", "*", "", "^", "[a-z]", "auditd", "agetty", "login", "wayland"}
)
"""Processes without which a system or a session ends."""
VITAL_UNITS = frozenset({"network", "networking", "ssh", "firewalld", "ufw", "nftables", "iptables", "apparmor"})
"""Services without which nobody reaches a system, or everybody does."""
ESSENTIAL_PACKAGES = frozenset(
    {"libc6", "glibc", "systemd", "bash", "coreutils", "dpkg", "apt", "sudo", "rpm", "python3", "python3-minimal"}
    | {
        "kernel",
        "grub-common",
        "grub",
        "openssh-server",
        "linux-image",
        "base-files",
        "*",
        "util-linux",
        "dash",
        "libc",
        "musl",
        "apk-tools",
        "alpine-baselayout",
    }
)
"""Packages without which a system does not start."""
