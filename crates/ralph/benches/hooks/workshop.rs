//! What all cases share: the executables, the C programs, the homes and the repositories.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Context;

use crate::built::{self, Built, Linkage};
use crate::driver::Call;
use crate::home::Home;
use crate::options::Options;
use crate::plan::Bar;
use crate::programs::{self, Program};
use crate::repos::{Repo, Shape};

pub(crate) struct Workshop {
    pub(crate) hooks: Built,
    pub(crate) noop: Program,
    pub(crate) drain: Program,
    pub(crate) stopwatch: Program,
    pub(crate) scratch: PathBuf,
    /// Not built from this tree.
    are_released: bool,
    ralph: Option<PathBuf>,
    /// A home without a loop of our session.
    pub(crate) idle: Rc<Home>,
    pub(crate) small: Rc<Repo>,
}

impl Workshop {
    pub(crate) fn open(options: &Options) -> anyhow::Result<Workshop> {
        let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-hooks");
        let hooks = match &options.executables {
            Some(folder) => built::hooks_in(folder)?,
            None => {
                let hooks = built::hooks()?;
                built::neighbour(hooks.linkage)?;
                hooks
            }
        };
        let programs = scratch.join("programs");
        Ok(Workshop {
            noop: programs::compile("noop", hooks.linkage, &programs)?,
            drain: programs::compile("drain", hooks.linkage, &programs)?,
            stopwatch: programs::compile("stopwatch", Linkage::StaticMusl, &programs)?,
            ralph: built::command_line()?,
            idle: Rc::new(Home::idle(&scratch.join("home-idle"))?),
            small: Rc::new(Repo::ready(&scratch, Shape::new(200, 10))?),
            are_released: options.executables.is_some(),
            hooks,
            scratch,
        })
    }

    pub(crate) fn repo(&self, shape: Shape) -> anyhow::Result<Rc<Repo>> {
        Ok(Rc::new(Repo::ready(&self.scratch, shape)?))
    }

    pub(crate) fn live_home(
        &self,
        name: &str,
        repo: &Repo,
        n_tasks: usize,
    ) -> anyhow::Result<Rc<Home>> {
        let path = self.scratch.join(format!("home-{name}"));
        let home = Home::live(&path, &repo.path, n_tasks, self.ralph.as_deref());
        Ok(Rc::new(home.with_context(|| format!("could not make a loop for `{name}`"))?))
    }

    /// A hook as the client registers it; none if the executable does not exist.
    pub(crate) fn hook(
        &self,
        name: &str,
        home: &Home,
        repo: &Repo,
        stdin: Vec<u8>,
    ) -> Option<Call> {
        let program = self.hooks.get(name)?.to_owned();
        Some(Call { args: vec!["settings".into()], ..call(program, home, repo, stdin) })
    }

    /// A bar for work beyond the start-up, which the start of another C library would hide.
    pub(crate) fn bar(&self, most: f64) -> Bar {
        match self.hooks.linkage {
            Linkage::StaticMusl => Bar::AtMost(most),
            Linkage::HostTarget => Bar::None,
        }
    }

    pub(crate) fn idle_bar(&self) -> Bar {
        match self.hooks.linkage {
            // As released for download, or as built from source.
            Linkage::StaticMusl => Bar::AtMost(if self.are_released { 1.7 } else { 2.0 }),
            Linkage::HostTarget => Bar::AtMost(1.15),
        }
    }
}

pub(crate) fn call(program: PathBuf, home: &Home, repo: &Repo, stdin: Vec<u8>) -> Call {
    Call {
        program,
        args: Vec::new(),
        folder: repo.path.clone(),
        env: home.env(&repo.path),
        stdin: stdin.into(),
    }
}
