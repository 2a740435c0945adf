//! Finds the refinement that a command means, and what it refines.

use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::screen::visible;
use crate::refine::artefact::{Artefact, PlanFile};
use crate::runs::client::quoted;
use anyhow::Result;
use ralph_core::modes::refine::state::{RefineDocument, Refinement, refused_name};
use ralph_core::modes::refine::{Mode, Status};
use ralph_io::store::refine::{self as kept, RefineStore};

/// The named refinement, else the project's only one that fits.
pub(super) fn one(
    place: &RefineStore,
    name: Option<&str>,
    fits: impl Fn(&Refinement) -> bool,
) -> Result<(String, Refinement)> {
    let document = document(place)?;
    if let Some(name) = name {
        let found = document.session(name).map_err(|damaged| bad_state(damaged.into()))?;
        let found = found.map(|session| (name.to_owned(), session));
        return found.ok_or_else(|| {
            refused(
                Exit::No,
                format!("there is no refinement `{}`; {}", visible(name), there_are(&document)),
            )
        });
    }
    let mut found: Vec<(String, Refinement)> = document
        .sessions()
        .filter_map(|(name, session)| Some((name.to_owned(), session.ok()?)))
        .filter(|(_, session)| fits(session))
        .collect();
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(refused(Exit::No, format!("no refinement fits; {}", there_are(&document)))),
        _ => {
            let names: Vec<String> = found.iter().map(|(name, _)| visible(name)).collect();
            let message =
                format!("several refinements fit: {}; name one: `--id NAME`", names.join(", "));
            Err(refused(Exit::No, message))
        }
    }
}

/// All refinements of the project; an unreadable document is an error with its own exit code.
pub(super) fn document(place: &RefineStore) -> Result<RefineDocument> {
    place.document().map_err(bad_state)
}

fn there_are(document: &RefineDocument) -> String {
    let names: Vec<String> =
        document.sessions().map(|(name, _)| format!("`{}`", visible(name))).collect();
    match names.is_empty() {
        true => "`ralph refine loop` begins one".to_owned(),
        false => format!("there are {}", names.join(", ")),
    }
}

pub(super) fn artefact(
    here: &Here,
    place: &RefineStore,
    name: &str,
    session: &Refinement,
) -> Result<Artefact> {
    match session.mode {
        // `join` keeps an absolute path as it is.
        Mode::Plan => {
            Ok(Artefact::Plan(PlanFile::find(place, name, &place.root().join(&session.plan_file))?))
        }
        _ => Artefact::tasks(here),
    }
}

/// Refuses an invalid refinement name.
pub(super) fn sound(name: &str) -> Result<()> {
    refused_name(name).map_or(Ok(()), |why| Err(refused(Exit::Usage, visible(&why))))
}

/// The default name: after the plan or the project, with a number appended if the refinement of
/// that name is over or refines something else.
pub(super) fn unnamed(
    place: &RefineStore,
    document: &RefineDocument,
    mode: &Mode,
    plan_file: &str,
    max_iterations: Option<u32>,
) -> String {
    let from = if *mode == Mode::Plan { std::path::Path::new(plan_file) } else { place.root() };
    let word = match mode {
        Mode::Plan => from.file_stem(),
        _ => from.file_name(),
    };
    let word = word.and_then(|word| word.to_str()).filter(|word| refused_name(word).is_none());
    let word = word.unwrap_or("project");
    let goes_on = |name: &String| match document.session(name) {
        Ok(None) => true,
        Ok(Some(session)) => {
            let has_more = session.status == Status::MaxIterations
                && max_iterations.is_some_and(|most| most > session.iterations_completed);
            session.shares_artefact(mode, plan_file) && (!session.status.is_over() || has_more)
        }
        Err(_) => false,
    };
    let numbered = (2..).map(|number: u32| format!("{word}-{number}"));
    std::iter::once(word.to_owned()).chain(numbered).find(goes_on).unwrap_or_default()
}

/// The existing refinement or a new one, with the requested number of rounds.
pub(super) fn open(
    place: &RefineStore,
    name: &str,
    artefact: &Artefact,
    most: Option<u32>,
    new: impl FnOnce() -> Refinement,
) -> Result<Refinement> {
    place.update(|document| {
        let mut session = match document.session(name)? {
            Some(found) if !found.shares_artefact(&artefact.mode(), artefact.plan_file()) => {
                let what = match found.mode {
                    Mode::Plan => format!("`{}`", found.plan_file),
                    _ => "the tasks".to_owned(),
                };
                let message = format!(
                    "the refinement `{name}` refines {what}; choose another name: `--id NAME`"
                );
                return Err(refused(Exit::No, message));
            }
            Some(found) => found,
            None => new(),
        };
        if let Some(most) = most {
            session.settings.max_iterations = most;
        }
        document.put(name, session.clone())?;
        Ok(session)
    })
}

/// The error for a plan or tasks that someone else works on.
pub(super) fn taken(document: &RefineDocument, name: &str, artefact: &Artefact) -> anyhow::Error {
    let (mode, plan_file) = (artefact.mode(), artefact.plan_file());
    let mut names: Vec<&str> = document.rivals(name, &mode, plan_file);
    let is_own = document.session(name).is_ok_and(|own| own.is_some_and(|own| own.round.is_some()));
    if names.is_empty() && is_own {
        names.push(name);
    }
    let whose = match names.first() {
        Some(name) => format!("the refinement `{}` is at work", visible(name)),
        None => "another `ralph refine` is at work".to_owned(),
    };
    let on = if plan_file.is_empty() {
        "the tasks".to_owned()
    } else {
        format!("`{}`", visible(plan_file))
    };
    refused(
        Exit::No,
        format!(
            "{whose} on {on}; nothing was changed: wait for it, or end it with Ctrl-C or `ralph refine kill`"
        ),
    )
}

/// The name quoted for a shell, so that a copied command names exactly this refinement.
pub(super) fn word(name: &str) -> String {
    visible(&quoted(name))
}

/// Whether someone works on what this refinement refines.
pub(super) fn is_held(place: &RefineStore, session: &Refinement) -> bool {
    place.is_held(&session.mode, &session.plan_file)
}

/// Gives the error for a damaged document its own exit code, for scripts.
pub(super) fn told(error: anyhow::Error) -> anyhow::Error {
    if kept::is_damaged(&error) { bad_state(error) } else { error }
}
