//! What operators ask the template that they have.

use super::{Template, of};
use crate::cover::{Hops, Operator, outside_inputs};
use crate::facts::Context;
use fuseline_ir::hop::{FusionCover, HopId};

impl Operator {
    /// The template of a fused operator.
    pub(crate) fn template(&self) -> Option<&'static dyn Template> {
        self.template.map(of)
    }

    /// Whether the operator is driven: see [`Template::is_driven`].
    pub(crate) fn is_driven(&self) -> bool {
        self.template().is_some_and(Template::is_driven)
    }

    /// An input that can be the main one of a fused operator; none of a basic one.
    pub(crate) fn main_input(&self, context: &Context<'_>) -> Option<HopId> {
        self.template()?.main_input(context, self)
    }

    /// Whether the inputs of a fused operator are such that it has a plan: there is one to be the main input.
    pub(crate) fn is_constructible(&self, context: &Context<'_>) -> bool {
        self.template.is_none() || self.main_input(context).is_some()
    }

    /// The operator if it can be constructed, as one of a simpler template where that does the work, with the transposes that it
    /// reads through as members.
    pub(crate) fn constructible(mut self, context: &Context<'_>) -> Option<Operator> {
        let own = self.template;
        if let Some(simpler) = self.simpler_template(context) {
            self.template = Some(simpler.ttype());
            if self.is_constructible(context) {
                return Some(self.with_transposes(context));
            }
            self.template = own;
        }
        self.is_constructible(context).then(|| self.with_transposes(context))
    }

    /// The operator with the transposes that it reads through as members.
    fn with_transposes(mut self, context: &Context<'_>) -> Operator {
        let Some(template) = self.template() else { return self };
        let members = self.members.iter();
        let transposes: Hops = members.filter_map(|&id| template.absorbed_transpose(context, id)).collect();
        if transposes.iter().any(|&id| !self.covers(id)) {
            self.members.extend(transposes);
            self.members.sort_unstable();
            self.members.dedup();
            self.inputs = outside_inputs(context.dag, &self.members);
        }
        self
    }

    /// The template that does the work where no member needs the operator's own one.
    fn simpler_template(&self, context: &Context<'_>) -> Option<&'static dyn Template> {
        let own = self.template()?;
        let simpler = own.simpler()?;
        let is_needed = self.members.iter().any(|&member| own.is_needed(context, member, self.root()));
        (!is_needed).then(|| of(simpler))
    }

    /// The cover of a fused operator: its members and the transposes that it reads through.
    pub(crate) fn cover(&self, context: &Context<'_>) -> Option<FusionCover> {
        self.clone().with_transposes(context).to_cover()
    }
}
