use super::*;
use crate::process::sandbox::{Sandbox, git_in};
use crate::store::home::Home;
use ralph_core::state::{EndingKind, Limits, Task};
use ralph_core::tasks::shared::names::Reference;
use ralph_core::tasks::shared::record::{End, LedgerRecord, Plan, Record, TaskRecord};
use ralph_core::tasks::shared::text::Name;
use ralph_core::tasks::shared::text::Text;
use ralph_core::tasks::shared::timing::{Attempt, Settled, settle};
use ralph_core::tasks::shared::view::Commit;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

/// A remote, and clones of it which are machines.
struct Remote {
    at: Sandbox,
}

impl Remote {
    fn new() -> Remote {
        Remote::with("sha1")
    }

    fn with(format: &str) -> Remote {
        let at = Sandbox::folder();
        at.git(&format!("init -q --bare --object-format={format} remote.git"));
        at.git(&format!("init -q -b main --object-format={format} one"));
        git_in(&at.path("one"), &["commit", "-q", "--allow-empty", "-m", "first"]);
        git_in(&at.path("one"), &["remote", "add", "origin", "../remote.git"]);
        git_in(&at.path("one"), &["push", "-q", "origin", "main"]);
        Remote { at }
    }

    fn machine(&self, name: &str) -> SharedRepository {
        self.open(name).unwrap()
    }

    fn open(&self, name: &str) -> Result<SharedRepository> {
        SharedRepository::open(&self.private(name), &self.at.path("one"), "origin", space())
    }

    /// A machine that has stored a claim.
    fn claimed(&self) -> (SharedRepository, Append, ObjectId) {
        let a = self.machine("a");
        let append = claim("a", None);
        let record = a.store(&append).unwrap();
        (a, append, record)
    }

    fn private(&self, name: &str) -> PathBuf {
        self.at.path("home").join(format!("{name}.git"))
    }

    fn git(&self, arguments: &[&str]) -> String {
        git_in(&self.at.path("remote.git"), arguments)
    }
}

fn space() -> Namespace {
    Namespace::new(&Name::new("l"), false)
}

fn claim(machine: &str, parent: Option<&ObjectId>) -> Append {
    let kind = TaskRecord::Claim { worker: Name::new("1") };
    let record = Record::new(Name::new(&format!("nonce-{machine}")), Name::new(machine), kind);
    Append::new(&space(), &Reference::Task("T-1".to_owned()), parent, None, &record)
}

fn push(at: &SharedRepository, append: &Append, record: &ObjectId) -> PushReport {
    let update = Update {
        reference: &append.reference,
        expected: append.parent.as_ref(),
        new: Some(record),
    };
    at.push(&[update]).unwrap()
}

/// Settles a push by its status line alone, or by a read.
fn settled(
    at: &SharedRepository,
    append: &Append,
    record: &ObjectId,
    status: Option<char>,
) -> Settled {
    let chain = |tip: &ObjectId| -> Vec<ObjectId> {
        at.chain(None, tip).unwrap().into_iter().map(|commit| commit.id).collect()
    };
    at.fetch().unwrap();
    let references = at.snapshot().unwrap().references;
    let tip = references.get(&append.reference);
    let chain = tip.map(chain).unwrap_or_default();
    settle(&Attempt {
        record,
        expected: append.parent.as_ref(),
        status,
        chain: Some(&chain),
        locked: None,
    })
}

#[test]
fn of_two_machines_that_claim_at_once_the_server_lets_one_win_and_both_learn_it() {
    let remote = Remote::new();
    let (a, b) = (remote.machine("a"), remote.machine("b"));
    let (claim_a, claim_b) = (claim("a", None), claim("b", None));
    let (record_a, record_b) = (a.store(&claim_a).unwrap(), b.store(&claim_b).unwrap());
    assert_ne!(record_a, record_b);
    let report = push(&a, &claim_a, &record_a);
    assert_eq!(report.flag(&claim_a.reference), Some('*'), "{report:?}");
    let report = push(&b, &claim_b, &record_b);
    assert_eq!(report.flag(&claim_b.reference), Some('!'), "{report:?}");
    assert_eq!(settled(&b, &claim_b, &record_b, report.flag(&claim_b.reference)), Settled::Lost);
    // What a lost answer leaves open, a read decides.
    assert_eq!(settled(&a, &claim_a, &record_a, None), Settled::Landed);
    let read = b.chain(None, &record_a).unwrap();
    assert_eq!(read.len(), 1);
    assert_eq!((&read[0].id, &read[0].parent), (&record_a, &None));
    assert_eq!(read[0].message, claim_a.message);
}

#[test]
fn a_record_is_pending_until_it_is_forgotten_also_for_the_next_process() {
    let remote = Remote::new();
    let (a, append, record) = remote.claimed();
    drop(a);
    let a = remote.machine("a");
    assert_eq!(a.snapshot().unwrap().pending, [(append.reference.clone(), record)].into());
    a.forget(&append.reference).unwrap();
    assert_eq!(a.snapshot().unwrap().pending, BTreeMap::new());
    assert_eq!(
        a.snapshot().unwrap().references,
        BTreeMap::new(),
        "what is pending is no reference of the loop"
    );
}

#[test]
fn a_chain_is_read_after_what_was_seen_with_the_work_and_the_message() {
    let remote = Remote::new();
    let a = remote.machine("a");
    let work = git_in(&remote.at.path("one"), &["rev-parse", "HEAD"]);
    let work = ObjectId::try_from(work.trim().to_owned()).unwrap();
    let first = claim("a", None);
    let tip = a.store(&first).unwrap();
    push(&a, &first, &tip);
    let record = Record::new(Name::new("n2"), Name::new("a"), TaskRecord::Finish);
    let finish =
        Append::new(&space(), &Reference::Task("T-1".to_owned()), Some(&tip), Some(&work), &record);
    let finished = a.store(&finish).unwrap();
    // The work lies in the clone alone until this push.
    let report = push(&a, &finish, &finished);
    assert_eq!(report.flag(&finish.reference), Some(' '), "{report:?}");
    let b = remote.machine("b");
    b.fetch().unwrap();
    let references = b.snapshot().unwrap().references;
    assert_eq!(references, [(finish.reference.clone(), finished.clone())].into());
    let news = b.chain(Some(&tip), &finished).unwrap();
    assert_eq!(news.len(), 1);
    assert_eq!((&news[0].parent, &news[0].work), (&Some(tip), &Some(work)));
    assert_eq!(Record::<TaskRecord>::parse(&news[0].message).unwrap(), record);
}

#[test]
fn several_chains_are_read_at_once_each_after_what_was_seen_of_it() {
    let remote = Remote::new();
    let a = remote.machine("a");
    let one = a.store(&claim("a", None)).unwrap();
    let (next, fork) = (claim("a", Some(&one)), claim("b", Some(&one)));
    let (next, fork) = (a.store(&next).unwrap(), a.store(&fork).unwrap());
    let two = a.store(&claim("b", None)).unwrap();
    let read = |wanted: &[(Option<&ObjectId>, &ObjectId)]| {
        let chains = a.chains(wanted).unwrap().into_iter();
        let ids = |chain: Vec<Commit>| chain.into_iter().map(|one| one.id).collect::<Vec<_>>();
        chains.map(|chain| chain.map(ids)).collect::<Vec<_>>()
    };
    let all = [Some(vec![one.clone(), next.clone()]), Some(vec![two.clone()])];
    assert_eq!(read(&[(None, &next), (None, &two)]), all);
    let rest = [Some(vec![next.clone()]), Some(vec![two.clone()]), None];
    let wanted = [(Some(&one), &next), (None, &two), (None, &two)];
    assert_eq!(read(&wanted), rest, "a record of another chain");
    assert_eq!(read(&[(Some(&next), &fork)]), [Some(vec![fork])], "replaced by force");
    assert_eq!(read(&[(Some(&next), &one)]), [Some(vec![])]);
}

#[test]
fn one_push_carries_several_updates_and_each_is_decided_alone() {
    let remote = Remote::new();
    let (a, taken, record) = remote.claimed();
    let other = "refs/ralph/shared/l/m/a";
    let wrong = Update { reference: &taken.reference, expected: Some(&record), new: Some(&record) };
    let right = Update { reference: other, expected: None, new: Some(&record) };
    let report = a.push(&[wrong, right]).unwrap();
    assert_eq!(
        (report.flag(&taken.reference), report.flag(other)),
        (Some('!'), Some('*')),
        "{report:?}"
    );
    let gone = Update { reference: other, expected: Some(&record), new: None };
    assert_eq!(a.push(&[gone]).unwrap().flag(other), Some('-'));
}

#[test]
fn a_reference_that_is_gone_from_the_remote_is_gone_here() {
    let remote = Remote::new();
    let (a, append, record) = remote.claimed();
    push(&a, &append, &record);
    a.fetch().unwrap();
    assert_eq!(a.snapshot().unwrap().references.len(), 1);
    remote.git(&["update-ref", "-d", &append.reference]);
    a.fetch().unwrap();
    assert_eq!(a.snapshot().unwrap().references, BTreeMap::new());
}

#[test]
fn a_remote_that_is_gone_is_an_error_with_gits_words_and_loses_nothing() {
    let remote = Remote::new();
    let (a, append, record) = remote.claimed();
    let (here, away) = (remote.at.path("remote.git"), remote.at.path("away.git"));
    std::fs::rename(&here, &away).unwrap();
    let error = a.fetch().unwrap_err().to_string();
    assert!(error.starts_with("the remote did not answer: fatal: "), "{error}");
    let report = push(&a, &append, &record);
    assert_eq!(report.lines, [], "{report:?}");
    std::fs::rename(&away, &here).unwrap();
    assert_eq!(push(&a, &append, &record).flag(&append.reference), Some('*'));
}

#[test]
fn a_call_that_hangs_ends_at_its_deadline_and_the_next_one_works() {
    let remote = Remote::new();
    let (mut a, append, record) = remote.claimed();
    push(&a, &append, &record);
    // The server's end of the pipe: says nothing and does not end.
    let silent = remote.at.path("silent");
    std::fs::write(&silent, "#!/bin/sh\nexec sleep 1000\n").unwrap();
    remote.at.chmod("silent", 0o755);
    let pipe = format!("ext::{}", silent.display());
    let fetch = std::mem::replace(&mut a.network.fetch, pipe);
    a.network.access.push(("protocol.ext.allow".into(), "always".into()));
    a.set_deadline(Duration::from_millis(300));
    let began = Instant::now();
    let error = a.fetch().unwrap_err().to_string();
    assert_eq!(error, "the remote did not answer within 0 s");
    assert!(began.elapsed() < Duration::from_secs(60));
    a.network.fetch = fetch;
    a.set_deadline(Duration::from_secs(60));
    a.fetch().unwrap();
}

#[test]
fn one_process_at_a_time_has_the_repository_and_what_a_killed_git_locked_is_free_again() {
    let remote = Remote::new();
    let (a, append, record) = remote.claimed();
    push(&a, &append, &record);
    lock::wait_until(Instant::now());
    let error = remote.open("a").unwrap_err().to_string();
    assert!(error.contains("another process has held the lock"), "{error}");
    lock::wait_until(Instant::now() + Duration::from_secs(60));
    drop(a);
    let stale = remote.private("a").join("refs/ralph/shared/l/t/T-1.lock");
    std::fs::create_dir_all(stale.parent().unwrap()).unwrap();
    for left in [stale, remote.private("a").join("packed-refs.lock")] {
        std::fs::write(left, "").unwrap();
    }
    let a = remote.machine("a");
    a.fetch().unwrap();
    assert_eq!(a.snapshot().unwrap().references.len(), 1);
}

#[test]
fn a_repository_whose_maker_was_killed_is_completed_and_one_with_records_keeps_them() {
    let remote = Remote::new();
    let (a, append, record) = remote.claimed();
    drop(a);
    for left in ["objects/info/alternates", "HEAD"] {
        std::fs::remove_file(remote.private("a").join(left)).unwrap();
    }
    let a = remote.machine("a");
    assert_eq!(a.snapshot().unwrap().pending, [(append.reference, record.clone())].into());
    let work = git_in(&remote.at.path("one"), &["rev-parse", "HEAD"]);
    let work = ObjectId::try_from(work.trim().to_owned()).unwrap();
    assert_eq!(a.chain(None, &work).unwrap().len(), 1, "the objects of the clone are there");
}

#[test]
fn the_users_ssh_command_is_kept_and_asked_not_to_prompt() {
    let remote = Remote::new();
    let one = remote.at.path("one");
    let ssh = |value: &str| {
        git_in(&one, &["config", "core.sshCommand", value]);
        let found = Network::for_remote(&one, "origin").unwrap().ssh;
        found.into_string().unwrap()
    };
    assert_eq!(ssh("ssh -i key"), "ssh -i key -o BatchMode=yes -o ConnectTimeout=30");
    assert_eq!(ssh("plink -batch"), "plink -batch");
    git_in(&one, &["config", "http.https://h/.extraheader", "AUTHORIZATION: basic x"]);
    git_in(&one, &["config", "core.hooksPath", "hooks"]);
    let access = Network::for_remote(&one, "origin").unwrap().access;
    let keys: Vec<_> = access.iter().map(|(key, _)| key.to_str().unwrap()).collect();
    assert_eq!(keys, ["core.sshcommand", "http.https://h/.extraheader"]);
}

#[test]
fn a_remote_that_the_clone_does_not_have_is_named() {
    let remote = Remote::new();
    let opened =
        SharedRepository::open(&remote.private("a"), &remote.at.path("one"), "upstream", space());
    let error = opened.unwrap_err().to_string();
    assert_eq!(error, "could not find the remote `upstream`; see `git remote -v`");
}

fn plan() -> LedgerRecord {
    let task = Task { id: "T-1".to_owned(), name: "one".to_owned(), ..Task::default() };
    LedgerRecord::Plan(Box::new(Plan {
        prompt: "the work".to_owned(),
        acceptance_criteria: Vec::new(),
        frozen: None,
        task_graph: vec![task],
        context_report: String::new(),
        max_iterations: 10,
        limits: Limits::default(),
        lease_seconds: 60,
        attempts: 3,
    }))
}

/// A clone with a home of its own.
struct Clone {
    home: Home,
    place: SharedPlace,
}

impl Clone {
    fn new(remote: &Remote, name: &str) -> Clone {
        let home = Home::at(remote.at.path(&format!("home-{name}")));
        home.prepare().unwrap();
        let place = SharedPlace::new(&home, &remote.at.path("one"), "origin", space());
        Clone { home, place }
    }

    fn head(&self, remote: &Remote) -> ObjectId {
        let head = git_in(&remote.at.path("one"), &["rev-parse", "HEAD"]);
        ObjectId::try_from(head.trim().to_owned()).unwrap()
    }
}

#[test]
fn two_clones_that_share_at_once_meet_in_one_ledger() {
    for format in ["sha1", "sha256"] {
        check_sharing_at_once(&Remote::with(format));
    }
}

fn check_sharing_at_once(remote: &Remote) {
    let (a, b) = (Clone::new(remote, "a"), Clone::new(remote, "b"));
    let head = a.head(remote);
    assert_eq!(a.place.probe().unwrap(), None);
    assert!(a.place.put_first(plan(), &head).unwrap());
    assert!(!b.place.put_first(plan(), &head).unwrap());
    let ledgers = found(&b.home, &remote.at.path("one"), "origin").unwrap();
    assert_eq!(ledgers.len(), 1);
    let ledger = ledgers[0].ledger.as_ref().unwrap();
    assert_eq!((ledgers[0].space.clone(), ledger.ids.len(), &ledger.branch), (space(), 1, &head));
}

#[test]
fn a_command_adds_its_record_after_what_another_machine_added_and_each_reads_both() {
    let remote = Remote::new();
    let (a, b) = (Clone::new(&remote, "a"), Clone::new(&remote, "b"));
    a.place.put_first(plan(), &a.head(&remote)).unwrap();
    let mut tries = 0;
    let added = b.place.put(|view| {
        tries += 1;
        if view.ledger.pause.is_none() {
            // Another machine is faster.
            let pause = LedgerRecord::Pause { reason: Text::new("lunch") };
            assert!(a.place.put(|_| Ok(Some(pause.clone()))).unwrap());
        }
        Ok(Some(LedgerRecord::Signal { info: false, text: Text::new("hello") }))
    });
    assert!(added.unwrap());
    assert_eq!(tries, 2);
    let ledger = a.place.read().unwrap().ledger;
    assert_eq!(ledger.pause, Some(Text::new("lunch")));
    assert_eq!(ledger.signals.len(), 1);
    let end = End { ending: EndingKind::Complete, reason: Text::new("done") };
    let end = |view: &ralph_core::tasks::shared::view::View| {
        Ok(view.ledger.end.is_none().then(|| LedgerRecord::End(end.clone())))
    };
    assert!(a.place.put(end).unwrap());
    assert!(!b.place.put(end).unwrap(), "there is nothing to add");
}

#[test]
fn a_claim_that_landed_is_this_machines_own_also_if_the_process_died_before_it_knew() {
    let remote = Remote::new();
    let (a, append, record) = remote.claimed();
    // It dies after the server took the record.
    push(&a, &append, &record);
    drop(a);
    let a = remote.machine("a");
    let report = a.exchange(&Exchange::default()).unwrap();
    let sent = Sent { reference: append.reference.clone(), record, settled: Settled::Landed };
    assert_eq!(
        (report.sent, report.has_pushed, report.is_answered),
        (vec![sent.clone()], false, true)
    );
    assert_eq!(a.snapshot().unwrap().own, [(sent.reference, sent.record)].into());
    assert_eq!(a.snapshot().unwrap().pending, BTreeMap::new());
}

#[test]
fn of_a_record_that_lost_nothing_is_left_and_one_that_was_not_pushed_stays_pending() {
    let remote = Remote::new();
    let (a, b) = (remote.machine("a"), remote.machine("b"));
    let order = |machine| Exchange {
        appends: vec![claim(machine, None)],
        pushes: true,
        ..Exchange::default()
    };
    let only =
        |report: &ExchangeReport| report.sent.iter().map(|one| one.settled).collect::<Vec<_>>();
    let unsent = b.exchange(&Exchange { pushes: false, ..order("b") }).unwrap();
    assert_eq!(only(&unsent), [Settled::Again]);
    assert_eq!(only(&a.exchange(&order("a")).unwrap()), [Settled::Landed]);
    let lost = b.exchange(&Exchange { pushes: true, ..Exchange::default() }).unwrap();
    assert_eq!(only(&lost), [Settled::Lost]);
    assert_eq!(
        (b.snapshot().unwrap().pending, b.snapshot().unwrap().own),
        (BTreeMap::new(), BTreeMap::new())
    );
}

#[test]
fn the_branch_moves_forward_and_is_read_with_the_records() {
    let remote = Remote::new();
    let a = remote.machine("a");
    let head = git_in(&remote.at.path("one"), &["rev-parse", "HEAD"]);
    let new = ObjectId::try_from(head.trim().to_owned()).unwrap();
    let branch = Some(BranchUpdate { expected: None, new: new.clone() });
    a.exchange(&Exchange { branch, pushes: true, ..Exchange::default() }).unwrap();
    assert_eq!(a.snapshot().unwrap().branch, Some(new.clone()));
    assert_eq!(remote.git(&["rev-parse", "refs/heads/ralph/l"]).trim(), new.as_str());
    remote.git(&["update-ref", "-d", "refs/heads/ralph/l"]);
    a.fetch().unwrap();
    assert_eq!(a.snapshot().unwrap().branch, None);
}

#[test]
fn a_host_that_refuses_the_references_is_told_from_one_that_does_not_answer() {
    let remote = Remote::new();
    let hook =
        "#!/bin/sh\ncase $1 in refs/heads/*) ;; *) echo no such namespace >&2; exit 1;; esac\n";
    remote.at.write("remote.git/hooks/update", hook);
    remote.at.chmod("remote.git/hooks/update", 0o755);
    let a = Clone::new(&remote, "a");
    assert_eq!(a.place.probe().unwrap(), Some("[remote rejected] (hook declined)".to_owned()));
    let below = Namespace::new(&Name::new("l"), true);
    let below = SharedPlace::new(&a.home, &remote.at.path("one"), "origin", below);
    assert_eq!(below.probe().unwrap(), None);
    std::fs::rename(remote.at.path("remote.git"), remote.at.path("away.git")).unwrap();
    let error = a.place.probe().unwrap_err().to_string();
    assert!(error.contains("does not appear to be a git repository"), "{error}");
}

#[test]
fn no_hook_of_the_clone_or_its_user_runs_at_a_push() {
    let remote = Remote::new();
    let (hook, mark) = (remote.at.path("hooks/pre-push"), remote.at.path("mark"));
    remote.at.write("hooks/pre-push", &format!("#!/bin/sh\ntouch {}\n", mark.display()));
    remote.at.chmod("hooks/pre-push", 0o755);
    let one = remote.at.path("one");
    git_in(&one, &["config", "core.hooksPath", &hook.parent().unwrap().display().to_string()]);
    let (a, append, record) = remote.claimed();
    assert_eq!(push(&a, &append, &record).flag(&append.reference), Some('*'));
    assert!(!mark.exists());
    git_in(&one, &["push", "-q", "origin", "main:other"]);
    assert!(mark.exists(), "the user's own push runs it");
}
