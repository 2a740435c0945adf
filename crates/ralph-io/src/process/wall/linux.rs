//! Landlock for files, and a filter of system calls for what Landlock does not know.
//!
//! Landlock grows with the kernel: what an older one cannot refuse, the filter does. Calls that are newer
//! than the filter do not exist inside.

use super::Wall;
use anyhow::{Context, Result, bail};
use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreatedAttr, Scope,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, sock_filter,
};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::process::Command;

/// The newest Landlock that was tried.
const NEWEST: ABI = ABI::V7;

/// Where programs write what nobody keeps.
const SINKS: [&str; 3] = ["/dev/null", "/dev/zero", "/dev/full"];

/// The first system call that is unknown here; numbers are the same on all machines from 424 on.
const FIRST_UNKNOWN: u32 = 463;

pub(super) fn cannot_stand() -> Option<String> {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_write(ABI::V1))
        .and_then(Ruleset::create);
    if ruleset.is_err() || played().as_deref() == Some("0") {
        return Some("this kernel has no Landlock (Linux 5.13 or later, with `landlock` in its list of `lsm`)".to_owned());
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let has_filters = status.is_empty() || status.contains("Seccomp:");
    (!has_filters).then(|| "this kernel has no seccomp".to_owned())
}

pub(super) fn command(wall: &Wall<'_>, program: &OsStr, arguments: &[&OsStr]) -> Result<Command> {
    let filters = |abi| -> Result<[BpfProgram; 2]> {
        Ok([absent_calls()?, refused_calls(abi, wall.network)?])
    };
    close_inherited();
    let abi = refuse_writes(wall)?;
    for filter in filters(abi)? {
        seccompiler::apply_filter(&filter).context("could not filter system calls")?;
    }
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}

/// A file that is open for writing could be written whatever its path.
fn close_inherited() {
    let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = open.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    for number in numbers.filter(|number| *number > 2).collect::<Vec<i32>>() {
        // The folder that was just read is closed already.
        let _ = nix::unistd::close(number);
    }
}

/// Refuses every write but those that the wall allows; returns what the kernel knows.
fn refuse_writes(wall: &Wall<'_>) -> Result<ABI> {
    let newest = newest();
    let writes = AccessFs::from_write(newest);
    // A device in the private folder would be the machine's own.
    let own = writes & !(AccessFs::MakeBlock | AccessFs::MakeChar | AccessFs::IoctlDev);
    let content = own & AccessFs::from_file(newest);
    let mut ruleset = Ruleset::default().handle_access(writes)?;
    if newest >= ABI::V6 {
        ruleset = ruleset.scope(Scope::from_all(newest))?;
    }
    let mut ruleset = ruleset.create()?;
    ruleset = ruleset.add_rule(PathBeneath::new(PathFd::new(wall.private)?, own))?;
    if let Some(file) = wall.writable {
        ruleset = ruleset.add_rule(PathBeneath::new(PathFd::new(file)?, content))?;
    }
    for sink in SINKS {
        if let Ok(file) = PathFd::new(sink) {
            ruleset = ruleset.add_rule(PathBeneath::new(file, content | device_calls(newest)))?;
        }
    }
    // `> /dev/stderr` opens it again.
    for output in ["/proc/self/fd/1", "/proc/self/fd/2"] {
        let is_file = std::fs::metadata(output).is_ok_and(|found| found.is_file());
        if let (true, Ok(file)) = (is_file, PathFd::new(output)) {
            ruleset = ruleset.add_rule(PathBeneath::new(file, content))?;
        }
    }
    let status = ruleset.restrict_self()?;
    match status.landlock {
        LandlockStatus::Available { effective_abi, .. } if status.no_new_privs => {
            Ok(effective_abi.min(newest))
        }
        _ => bail!("this kernel has no Landlock"),
    }
}

fn device_calls(newest: ABI) -> BitFlags<AccessFs> {
    if newest >= ABI::V5 { AccessFs::IoctlDev.into() } else { BitFlags::EMPTY }
}

/// In builds for tests, a variable plays an older kernel, or with `0` one without Landlock.
fn played() -> Option<String> {
    cfg!(debug_assertions).then(|| std::env::var("RALPH_TEST_LANDLOCK").ok()).flatten()
}

/// The newest Landlock to use.
fn newest() -> ABI {
    match played().as_deref() {
        Some("1") => ABI::V1,
        Some("3") => ABI::V3,
        Some("4") => ABI::V4,
        _ => NEWEST,
    }
}

/// Calls that are newer than this filter, and those of another way to call the kernel (x32), are absent. So
/// are those whose flags lie in memory, where a filter does not see them: programs use the older ones then.
fn absent_calls() -> Result<BpfProgram> {
    const OPENAT2: u32 = 437;
    const FCHMODAT2: u32 = 452;
    let (load, is_at_least, is, give) = (0x20, 0x35, 0x15, 0x06);
    let step = |code, jt, k| sock_filter { code, jt, jf: 0, k };
    let absent = SeccompAction::Errno(u32::try_from(libc::ENOSYS)?);
    Ok(vec![
        step(load, 0, 0),
        step(is_at_least, 3, FIRST_UNKNOWN),
        step(is, 2, OPENAT2),
        step(is, 1, FCHMODAT2),
        step(give, 0, SeccompAction::Allow.into()),
        step(give, 0, absent.into()),
    ])
}

/// Calls that change something besides the content and names of files.
#[rustfmt::skip]
const REFUSED: &[i64] = &[
    // The mode, owner, times and attributes of a file.
    libc::SYS_fchmod, libc::SYS_fchmodat, libc::SYS_fchown, libc::SYS_fchownat, libc::SYS_utimensat,
    libc::SYS_setxattr, libc::SYS_lsetxattr, libc::SYS_fsetxattr,
    libc::SYS_removexattr, libc::SYS_lremovexattr, libc::SYS_fremovexattr,
    // Calls that do others' work, and files that are named by a number.
    libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register,
    libc::SYS_open_by_handle_at, libc::SYS_bpf, libc::SYS_perf_event_open, libc::SYS_userfaultfd,
    libc::SYS_fanotify_init, libc::SYS_fanotify_mark,
    // Other processes.
    libc::SYS_ptrace, libc::SYS_process_vm_writev, libc::SYS_pidfd_getfd, libc::SYS_process_madvise,
    libc::SYS_process_mrelease, libc::SYS_move_pages, libc::SYS_migrate_pages, libc::SYS_setns,
    // Mounts.
    libc::SYS_mount, libc::SYS_umount2, libc::SYS_pivot_root, libc::SYS_open_tree, libc::SYS_move_mount,
    libc::SYS_fsopen, libc::SYS_fsconfig, libc::SYS_fsmount, libc::SYS_fspick, libc::SYS_mount_setattr,
    // What processes share without a file.
    libc::SYS_shmget, libc::SYS_shmat, libc::SYS_shmctl, libc::SYS_semget, libc::SYS_semctl, libc::SYS_semop,
    libc::SYS_semtimedop, libc::SYS_msgget, libc::SYS_msgctl, libc::SYS_msgsnd, libc::SYS_msgrcv,
    libc::SYS_mq_open, libc::SYS_mq_unlink, libc::SYS_mq_timedsend,
    libc::SYS_add_key, libc::SYS_request_key, libc::SYS_keyctl,
    // The machine.
    libc::SYS_reboot, libc::SYS_kexec_load, libc::SYS_init_module, libc::SYS_finit_module,
    libc::SYS_delete_module, libc::SYS_swapon, libc::SYS_swapoff, libc::SYS_acct, libc::SYS_quotactl,
    libc::SYS_quotactl_fd, libc::SYS_sethostname, libc::SYS_setdomainname, libc::SYS_settimeofday,
    libc::SYS_clock_settime, libc::SYS_clock_adjtime, libc::SYS_adjtimex, libc::SYS_syslog, libc::SYS_vhangup,
    libc::SYS_nfsservctl,
];

/// Those that only the oldest of the machines has.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const REFUSED_OLD: &[i64] = &[
    libc::SYS_chmod, libc::SYS_chown, libc::SYS_lchown, libc::SYS_utime, libc::SYS_utimes, libc::SYS_futimesat,
    libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_modify_ldt, libc::SYS_uselib, libc::SYS_kexec_file_load,
];
/// `kexec_file_load`, which has another number here.
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_OLD: &[i64] = &[294];

/// Questions to a terminal or a file, and what one does to a terminal of one's own. Every other device call
/// is refused: some change a file or a disk that was opened for reading.
#[rustfmt::skip]
const DEVICE_CALLS: [u64; 44] = [
    0x5401, 0x5402, 0x5403, 0x5404, 0x5405, 0x5406, 0x5407, 0x5408, 0x5409, 0x540a, 0x540b, 0x540e, 0x540f, 0x5410, 0x5411,
    0x5413, 0x5414, 0x5415, 0x541b, 0x5420, 0x5421, 0x5422, 0x5424, 0x5425, 0x5429, 0x5441, 0x5450, 0x5451, 0x5460,
    // `TCGETS2` and its family, then the numbers and locks of a new terminal.
    0x802c_542a, 0x402c_542b, 0x402c_542c, 0x402c_542d, 0x8004_5430, 0x4004_5431, 0x8004_5438, 0x8004_5439,
    // The flags, blocks and extents of a file; then copies, whose target must be open for writing.
    0x8008_6601, 0x801c_581f, 0x2, 0x1, 0xc020_660b, 0x4004_9409, 0x4020_940d,
];

fn refused_calls(abi: ABI, network: bool) -> Result<BpfProgram> {
    use SeccompCmpOp::{Eq, MaskedEq, Ne};
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for call in REFUSED.iter().chain(REFUSED_OLD) {
        rules.insert(*call, Vec::new());
    }
    let other_devices = DEVICE_CALLS.map(|known| (1, Ne, known));
    rules.insert(libc::SYS_ioctl, vec![all(&other_devices)?]);
    // Without a socket nothing can be reached but by one that was handed in. A pair of datagrams could be
    // sent to any address.
    rules.insert(
        libc::SYS_socket,
        match network {
            true => vec![all(&[(0, Ne, libc::AF_INET as u64), (0, Ne, libc::AF_INET6 as u64)])?],
            false => Vec::new(),
        },
    );
    let kinds = [libc::SOCK_DGRAM, libc::SOCK_RAW, libc::SOCK_RDM, libc::SOCK_SEQPACKET];
    let kinds = kinds.map(|kind| all(&[(1, MaskedEq(0xf), kind as u64)]));
    rules.insert(libc::SYS_socketpair, kinds.into_iter().collect::<Result<_>>()?);
    // The rank and limits of other processes: of this one they may be lowered.
    for (call, process) in [
        (libc::SYS_setpriority, 1),
        (libc::SYS_ioprio_set, 1),
        (libc::SYS_sched_setaffinity, 0),
        (libc::SYS_sched_setattr, 0),
        (libc::SYS_sched_setparam, 0),
        (libc::SYS_sched_setscheduler, 0),
    ] {
        rules.insert(call, vec![all(&[(process, Ne, 0)])?]);
    }
    rules.insert(
        libc::SYS_prlimit64,
        vec![SeccompRule::new(vec![
            SeccompCondition::new(0, SeccompCmpArgLen::Dword, Ne, 0)?,
            SeccompCondition::new(2, SeccompCmpArgLen::Qword, Ne, 0)?,
        ])?],
    );
    if abi < ABI::V6 {
        // Signals to others cannot be told from signals to processes of the command's own.
        let real = |signal: u8| all(&[(signal, Ne, 0)]);
        rules.insert(libc::SYS_kill, vec![all(&[(1, Ne, 0), (0, Ne, 0)])?]);
        rules.insert(libc::SYS_tkill, vec![real(1)?]);
        rules.insert(libc::SYS_tgkill, vec![real(2)?]);
        rules.insert(libc::SYS_rt_sigqueueinfo, vec![real(1)?]);
        rules.insert(libc::SYS_rt_tgsigqueueinfo, vec![real(2)?]);
        rules.insert(libc::SYS_pidfd_send_signal, vec![real(1)?]);
        let owner =
            [libc::F_SETOWN, F_SETSIG, F_SETOWN_EX].map(|what| all(&[(1, Eq, what as u64)]));
        rules.insert(libc::SYS_fcntl, owner.into_iter().collect::<Result<_>>()?);
    }
    // Opened for reading, a file can be emptied: Landlock refuses that from ABI 3 on, and on an overlay only
    // after the overlay has done it (seen with Linux 6.18).
    let emptied = |flags| {
        all(&[(flags, MaskedEq((libc::O_TRUNC | libc::O_ACCMODE) as u64), libc::O_TRUNC as u64)])
    };
    rules.insert(libc::SYS_openat, vec![emptied(2)?]);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_open, vec![emptied(1)?]);
    if abi < ABI::V3 {
        rules.insert(libc::SYS_truncate, Vec::new());
    }
    let refusal = SeccompAction::Errno(u32::try_from(libc::EPERM)?);
    let machine = std::env::consts::ARCH.try_into()?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refusal, machine)?;
    Ok(filter.try_into()?)
}

/// These two are missing in the list of `libc`.
const F_SETSIG: i32 = 10;
const F_SETOWN_EX: i32 = 15;

/// A rule that matches if all of the arguments do, each of 32 bits.
fn all(conditions: &[(u8, SeccompCmpOp, u64)]) -> Result<SeccompRule> {
    let conditions = conditions.iter().map(|(at, how, value)| {
        SeccompCondition::new(*at, SeccompCmpArgLen::Dword, how.clone(), *value)
    });
    Ok(SeccompRule::new(conditions.collect::<Result<_, _>>()?)?)
}
