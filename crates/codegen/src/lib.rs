//! The compiler: pipeline, settings, modules, errors.
