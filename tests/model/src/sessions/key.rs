//! What of a world decides its future: two worlds that agree in it are one.
//!
//! Names of prompts, sessions and processes only matter by which of them are the same, so each is
//! told by the place at which it comes first.

use super::World;
use super::client::{prompt_id, session_id};
use std::hash::{Hash, Hasher};

impl Hash for World {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let looped = self.looped.as_ref();
        let prompts = [
            self.client.turn.map(prompt_id),
            looped.and_then(|one| Some(one.turn.as_ref()?.prompt_id.clone())),
            looped.and_then(|one| one.cancelled_by_prompt.clone()),
        ];
        let sessions =
            [Some(session_id(self.client.session)), looped.map(|one| one.session_id.clone())];
        let processes = [
            self.client.process.map(u32::from),
            looped.and_then(|one| Some(one.client.as_ref()?.pid)).filter(|pid| *pid != 0),
        ];
        (alike(&prompts), alike(&sessions), alike(&processes)).hash(hasher);
        // Beside the two sessions that are named, entries are only counted.
        let leads: Vec<bool> = sessions.iter().flatten().map(|id| self.leads(id)).collect();
        (leads, self.entries.iter().filter(|leads| **leads).count()).hash(hasher);
        if let Some(one) = looped {
            (one.session_id.is_empty(), &one.phase, &one.resume_phase, one.iteration).hash(hasher);
            one.pause.as_ref().map(|pause| &pause.cause).hash(hasher);
            one.ending.as_ref().map(|ending| &ending.kind).hash(hasher);
            (one.blocked.is_some(), one.via.map(|via| via as u8)).hash(hasher);
            one.turn.as_ref().map(|turn| turn.worked).hash(hasher);
            one.client.as_ref().map(|client| client.pid == 0).hash(hasher);
            (one.touched, one.let_finish, one.started_at.is_some()).hash(hasher);
        }
        let client = &self.client;
        (client.queued, client.worker, &client.mark, client.skill).hash(hasher);
        (self.away, self.noted, self.broken).hash(hasher);
    }
}

impl World {
    fn leads(&self, id: &str) -> bool {
        (0..3).any(|session| session_id(session) == id && self.entries[usize::from(session)])
    }
}

/// For each thing the place at which it comes first; none for what is not there.
fn alike<T: PartialEq>(things: &[Option<T>]) -> Vec<Option<usize>> {
    let first = |thing: &Option<T>| things.iter().position(|other| other == thing);
    things.iter().map(|thing| thing.as_ref().and_then(|_| first(thing))).collect()
}
