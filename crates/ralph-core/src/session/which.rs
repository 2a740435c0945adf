//! Which session is meant where nobody names one.
//!
//! The only one that is not completed; where there is none of those, the only one at all. Anything else is for
//! the person to say: a guess would write into another's folder.

use super::id::SessionId;
use super::state::Standing;

/// What is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meant {
    /// This one.
    One(SessionId),
    /// There is none.
    None,
    /// One of these, all of which are completed.
    Completed(Vec<SessionId>),
    /// One of these, none of which is completed.
    Open(Vec<SessionId>),
}

/// Chooses among all that there are, each with its standing where its metadata say one.
pub fn meant(all: Vec<(SessionId, Option<Standing>)>) -> Meant {
    let (completed, open): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|(_, standing)| *standing == Some(Standing::Completed));
    let names = |all: Vec<(SessionId, _)>| all.into_iter().map(|(id, _)| id).collect::<Vec<_>>();
    match (names(open).as_slice(), names(completed).as_slice()) {
        ([one], _) | ([], [one]) => Meant::One(one.clone()),
        ([], []) => Meant::None,
        ([], completed) => Meant::Completed(completed.to_vec()),
        (open, _) => Meant::Open(open.to_vec()),
    }
}

impl Meant {
    /// The one that is meant.
    ///
    /// # Errors
    /// What is told where that cannot be known: `none` where there is none, else each by what a person types to
    /// mean it.
    pub fn one(
        self,
        none: &str,
        typed: impl Fn(&SessionId) -> String,
    ) -> Result<SessionId, String> {
        let names = |ids: &[SessionId]| ids.iter().map(&typed).collect::<Vec<_>>().join(" or ");
        match self {
            Meant::One(id) => Ok(id),
            Meant::None => Err(none.to_owned()),
            Meant::Completed(ids) => {
                Err(format!("all sessions are completed; say which is meant: {}", names(&ids)))
            }
            Meant::Open(ids) => Err(format!(
                "there are {} sessions; say which is meant: {}",
                ids.len(),
                names(&ids)
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DONE: Option<Standing> = Some(Standing::Completed);
    const OPEN: Option<Standing> = Some(Standing::InProgress);
    const AWAITS: Option<Standing> = Some(Standing::AwaitingFeedback);

    fn named(at: usize) -> SessionId {
        SessionId::parse(&format!("260131-12000{at}")).unwrap()
    }

    /// The sessions are numbered from 0.
    #[track_caller]
    fn check(standings: &[Option<Standing>], expected: Result<usize, &str>) {
        let all = standings.iter().enumerate().map(|(at, it)| (named(at), *it)).collect();
        let said = meant(all).one("there is none", |id| format!("`{}`", &id.as_str()[12..]));
        assert_eq!(said, expected.map(named).map_err(str::to_owned));
    }

    #[test]
    fn the_only_session_is_meant_however_it_stands() {
        for standing in [DONE, OPEN, AWAITS, None] {
            check(&[standing], Ok(0));
        }
        check(&[], Err("there is none"));
    }

    #[test]
    fn the_only_one_that_is_not_completed_is_meant_beside_those_that_are() {
        for open in [OPEN, AWAITS, None] {
            check(&[DONE, open, DONE], Ok(1));
        }
    }

    #[test]
    fn of_several_that_are_open_a_person_says_which_and_the_completed_are_not_offered() {
        let said = "there are 2 sessions; say which is meant: `0` or `2`";
        check(&[OPEN, DONE, AWAITS], Err(said));
        check(&[None, DONE, None], Err(said));
    }

    #[test]
    fn of_several_that_are_completed_a_person_says_which() {
        let said = "all sessions are completed; say which is meant: `0` or `1`";
        check(&[DONE, DONE], Err(said));
    }
}
