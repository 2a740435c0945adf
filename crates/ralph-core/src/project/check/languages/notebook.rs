//! Notebooks: ruff, which reads the Python of their cells. Their JSON is the editing tool's business.

use super::super::around::Around;
use super::python;
use super::wanted::Wanted;

/// What a file of this kind gets.
pub(super) fn wanted(around: &dyn Around) -> Wanted {
    let mut wanted = Wanted::new(around);
    python::lint(around, &mut wanted);
    wanted
}

#[cfg(test)]
mod tests {
    use super::super::world::World;

    #[test]
    fn ruff_reads_the_cells() {
        World::edits("a.ipynb").on_path(&["python3"]).plans("");
        let world = World::edits("a.ipynb").on_path(&["ruff", "python3", "pytest"]);
        world.plans("fix ruff");
        World::edits("a.ipynb").files(&["ruff.toml"]).plans("lacking ruff");
    }
}
