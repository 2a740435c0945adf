//! Notebooks: ruff, which reads the Python of their cells. Their JSON is the editing tool's business.

use super::super::workspace::Around;
use super::check_builder::CheckBuilder;
use super::python;

/// What a file of this kind gets.
pub(super) fn wanted(around: &dyn Around) -> CheckBuilder {
    let mut wanted = CheckBuilder::new(around);
    python::lint(around, &mut wanted);
    wanted
}

#[cfg(test)]
mod tests {
    use super::super::world::FileFixture;

    #[test]
    fn ruff_reads_the_cells() {
        FileFixture::edits("a.ipynb").on_path(&["python3"]).plans("");
        let world = FileFixture::edits("a.ipynb").on_path(&["ruff", "python3", "pytest"]);
        world.plans("fix ruff");
        FileFixture::edits("a.ipynb").files(&["ruff.toml"]).plans("lacking ruff");
    }
}
