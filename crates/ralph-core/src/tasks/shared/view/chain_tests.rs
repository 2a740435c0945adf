use super::*;
use crate::tasks::shared::fixture::{Remote, id, name};
use crate::tasks::shared::text::Text;

fn chain(remote: &Remote) -> Result<Chain, ChainError> {
    let mut chain = Chain::default();
    chain.extend(&remote.chains["T-1"]).map(|()| chain)
}

fn release() -> TaskRecord {
    TaskRecord::Released { reason: Text::new("no network") }
}

#[test]
fn a_task_is_claimed_finished_and_claimed_again() {
    let mut remote = Remote::new("T-1");
    remote.claim("T-1", "a");
    let claimed = ChainState::Claimed { machine: name("a"), worker: name("1") };
    assert_eq!(chain(&remote).unwrap().state, claimed);
    let finish = remote.task("T-1", "a", TaskRecord::Finish);
    assert!(
        matches!(chain(&remote).unwrap().state, ChainState::Finished { finish: is, .. } if is == finish)
    );
    remote.claim("T-1", "b");
    remote.task("T-1", "b", release());
    let chain = chain(&remote).unwrap();
    assert_eq!((chain.state, chain.releases), (ChainState::Released, 1));
}

#[test]
fn only_the_holder_finishes_or_releases() {
    for kind in [TaskRecord::Finish, release()] {
        let mut remote = Remote::new("T-1");
        remote.claim("T-1", "a");
        let stray = remote.task("T-1", "b", kind);
        let chain = chain(&remote).unwrap();
        assert_eq!(chain.state, ChainState::Claimed { machine: name("a"), worker: name("1") });
        assert_eq!((chain.tip(), chain.releases), (Some(&stray), 0));
    }
}

#[test]
fn a_chain_is_read_in_parts() {
    let mut remote = Remote::new("T-1");
    remote.finish("T-1", "a");
    let whole = chain(&remote).unwrap();
    let mut parts = Chain::default();
    for commit in &remote.chains["T-1"] {
        parts.extend(std::slice::from_ref(commit)).unwrap();
    }
    assert_eq!(parts, whole);
}

#[test]
fn a_chain_that_was_replaced_by_force_is_refused() {
    let mut remote = Remote::new("T-1");
    remote.claim("T-1", "a");
    let seen = chain(&remote).unwrap();
    let forced = Commit { parent: Some(id(9)), ..remote.chains["T-1"][0].clone() };
    let mut read = seen.clone();
    assert_eq!(read.extend(&[forced]), Err(ChainError::Replaced));
    assert_eq!(read, seen);
}

#[test]
fn a_chain_stops_at_a_record_that_cannot_be_read() {
    let mut remote = Remote::new("T-1");
    remote.claim("T-1", "a");
    let seen = chain(&remote).unwrap();
    remote.task("T-1", "a", TaskRecord::Finish);
    let commits = remote.chains.get_mut("T-1").unwrap();
    commits[1].message = commits[1].message.replace("\"schema\":1", "\"schema\":2");
    let mut read = Chain::default();
    let newer = ChainError::Newer { schema: 2 };
    assert_eq!(read.extend(commits), Err(newer.clone()));
    assert_eq!(read, seen);
    // The same again, when the rest is read later.
    assert_eq!(read.extend(&commits[1..]), Err(newer));
}

#[test]
fn a_malformed_record_counts_as_none_and_is_named() {
    let mut remote = Remote::new("T-1");
    remote.finish("T-1", "a");
    let finish = &mut remote.chains.get_mut("T-1").unwrap()[1];
    finish.work = None;
    let flaw = (finish.id.clone(), "a finish has no second parent".to_owned());
    let read = chain(&remote).unwrap();
    assert_eq!(read.state, ChainState::Claimed { machine: name("a"), worker: name("1") });
    assert_eq!(read.skipped, Skipped { count: 1, first: Some(flaw.clone()) });
    let again = remote.task("T-1", "a", TaskRecord::Finish);
    remote.task("T-1", "b", TaskRecord::Finish);
    remote.chains.get_mut("T-1").unwrap()[3].message = "no record".to_owned();
    let read = chain(&remote).unwrap();
    assert!(matches!(read.state, ChainState::Finished { finish: is, .. } if is == again));
    assert_eq!(read.skipped, Skipped { count: 2, first: Some(flaw) });
}
