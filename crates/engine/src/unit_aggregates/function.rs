//! `SUM`, `AVG`, `MIN` and `MAX` of one unit's rows, as functions of the engine.

use super::extremes::extremes;
use super::groups::{Groups, OneGroup};
use super::integer_sums::IntegerSums;
use super::real_sums::{Asked, RealSums};
use datafusion::arrow::array::Array;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int64Type, UInt64Type};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, Signature, Volatility,
};
use std::cmp::Ordering;
use std::sync::Arc;

/// What is computed of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Statistic {
    Sum,
    Mean,
    Least,
    Greatest,
}

impl Statistic {
    /// An accumulator of no group yet, if values of this type have the statistic.
    fn groups(self, of: &DataType) -> Option<Groups> {
        Some(match (self, of) {
            (Statistic::Sum, DataType::Int64) => Box::new(IntegerSums::<Int64Type>::default()),
            (Statistic::Sum, DataType::UInt64) => Box::new(IntegerSums::<UInt64Type>::default()),
            (Statistic::Sum, DataType::Float64) => Box::new(RealSums::new(Asked::Sum)),
            (Statistic::Mean, DataType::Float64) => Box::new(RealSums::new(Asked::Mean)),
            (Statistic::Sum | Statistic::Mean, _) => return None,
            (Statistic::Least, of) => return extremes(of, Ordering::Less),
            (Statistic::Greatest, of) => return extremes(of, Ordering::Greater),
        })
    }

    pub(super) fn takes(self, of: &DataType) -> bool {
        self.groups(of).is_some()
    }

    /// The types that it takes, in words.
    pub(super) fn types(self) -> &'static str {
        match self {
            Statistic::Sum | Statistic::Mean => "integers and reals are",
            Statistic::Least | Statistic::Greatest => {
                "numbers, texts, truth values, dates and moments are"
            }
        }
    }

    fn name(self) -> &'static str {
        match self {
            Statistic::Sum => "exact_sum",
            Statistic::Mean => "exact_mean",
            Statistic::Least => "exact_least",
            Statistic::Greatest => "exact_greatest",
        }
    }
}

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct UnitAggregate {
    statistic: Statistic,
    signature: Signature,
}

impl UnitAggregate {
    pub(super) fn new(statistic: Statistic) -> Self {
        UnitAggregate { statistic, signature: Signature::any(1, Volatility::Immutable) }
    }

    fn groups(&self, arguments: &[FieldRef]) -> Result<Groups> {
        let [argument] = arguments else {
            return Err(DataFusionError::Internal(format!("{} takes one argument", self.name())));
        };
        let found = self.statistic.groups(argument.data_type());
        found.ok_or_else(|| {
            DataFusionError::Internal(format!("{} does not take the type", self.name()))
        })
    }
}

impl AggregateUDFImpl for UnitAggregate {
    fn name(&self) -> &str {
        self.statistic.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// That of the argument: means are of reals.
    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments {
            [of] if self.statistic.takes(of) => Ok(of.clone()),
            _ => Err(DataFusionError::Plan(format!("{} does not take the type", self.name()))),
        }
    }

    fn state_fields(&self, arguments: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        // Of the state of no group, so that the types are said once.
        let columns = self.groups(arguments.input_fields)?.state(EmitTo::All)?;
        let field = |(index, column): (usize, &Arc<dyn Array>)| {
            let name = format!("{}[{index}]", arguments.name);
            Arc::new(Field::new(name, column.data_type().clone(), true))
        };
        Ok(columns.iter().enumerate().map(field).collect())
    }

    fn accumulator(&self, arguments: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(OneGroup::new(self.groups(arguments.expr_fields)?)?))
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(
        &self,
        arguments: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(self.groups(arguments.expr_fields)?)
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }
}
