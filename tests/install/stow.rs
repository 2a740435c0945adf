//! The dotfiles package, linked by the real `stow`.
