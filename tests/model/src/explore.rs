//! Explores one model to its end and says what was found.
//!
//! Most of what is promised is about a step: what held before it, what happened, what was answered.
//! Such a promise is looked at while the step is taken, and a state remembers the promises that
//! were broken on the way to it. So nothing but what decides the future needs to be part of a state,
//! and a broken promise is still shown with the path that leads to it.

use stateright::{Checker, Expectation, HasDiscoveries, Model, Property};
use std::fmt::Debug;
use std::hash::Hash;

/// The promises that were broken on the way to a state, by their numbers.
pub type Broken = u32;

/// A promise about a step.
pub struct Promise<S> {
    /// In words.
    pub name: &'static str,
    /// Whether it was kept.
    pub kept: fn(&S) -> bool,
}

/// The promises that a step breaks.
pub fn broken_by<S>(promises: &[Promise<S>], step: &S) -> Broken {
    let breaks = promises.iter().enumerate().filter(|(_, promise)| !(promise.kept)(step));
    breaks.fold(0, |broken, (number, _)| broken | 1 << number)
}

/// A state that remembers which promises were broken.
pub trait Remembers {
    /// Them.
    fn broken(&self) -> Broken;
}

/// The promises, as properties of the states that remember them.
pub fn properties<M, S>(promises: &[Promise<S>]) -> Vec<Property<M>>
where
    M: Model<State: Remembers>,
{
    // A property is a plain function, so that each number needs one of its own.
    macro_rules! unbroken {
        ($($number:literal)*) => { [$(unbroken::<M, $number> as fn(&M, &M::State) -> bool),*] };
    }
    let conditions = unbroken!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25);
    assert!(promises.len() <= conditions.len(), "each promise has a number");
    let named = promises.iter().map(|promise| promise.name);
    named.zip(conditions).map(|(name, condition)| Property::always(name, condition)).collect()
}

fn unbroken<M: Model<State: Remembers>, const NUMBER: u32>(_: &M, state: &M::State) -> bool {
    state.broken() & (1 << NUMBER) == 0
}

/// What exploring a model found.
pub struct Explored {
    /// The model's name.
    pub name: String,
    /// How many states there are.
    pub states: usize,
    /// What was shown of them.
    pub properties: Vec<String>,
    /// What does not hold, each with a path that shows it.
    pub failures: Vec<String>,
}

/// Visits every state of a model.
pub fn explore<M>(name: &str, model: M) -> Explored
where
    M: Model<
            State: Clone + PartialEq + Hash + Debug + Send + Sync,
            Action: Clone + PartialEq + Debug + Send + Sync,
        > + Send
        + Sync
        + 'static,
{
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let properties = model.properties();
    let checker = model.checker().threads(threads).spawn_bfs().join();
    let mut found = checker.discoveries();
    let mut failures: Vec<String> = Vec::new();
    for property in properties.iter().filter(|one| one.expectation == Expectation::Sometimes) {
        // What is to be found is no failure: what is not found is.
        if found.remove(property.name).is_none() {
            failures.push(format!("{name}: \"{}\" is never reached", property.name));
        }
    }
    failures.extend(found.into_iter().map(|(property, path)| {
        let steps: Vec<String> =
            path.into_actions().iter().map(|action| format!("    {action:?}")).collect();
        format!("{name}: \"{property}\" does not hold, after\n{}", steps.join("\n"))
    }));
    let properties = properties.iter().map(|one| one.name.to_owned()).collect();
    Explored { name: name.to_owned(), states: checker.unique_state_count(), properties, failures }
}

/// Explores a model that contains a known mistake, up to the first path that breaks this promise. It
/// fails if there is none: then the exploration would not find the mistake in the rules either.
pub fn find_mistake<M>(name: &str, model: M, breaks: &'static str) -> Explored
where
    M: Model<
            State: Clone + PartialEq + Hash + Debug + Send + Sync,
            Action: Clone + PartialEq + Debug + Send + Sync,
        > + Send
        + Sync
        + 'static,
{
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let enough = HasDiscoveries::AnyOf([breaks].into());
    let checker = model.checker().threads(threads).finish_when(enough).spawn_bfs().join();
    let found = checker.discoveries().contains_key(breaks);
    let failure = format!("{name}: nothing breaks \"{breaks}\"");
    Explored {
        name: name.to_owned(),
        states: checker.unique_state_count(),
        properties: vec![format!("{name} is found")],
        failures: if found { Vec::new() } else { vec![failure] },
    }
}
