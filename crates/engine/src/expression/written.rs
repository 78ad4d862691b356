//! Expressions and plans as people write them, without the planner's own notation.

use super::computed::Computed;
use datafusion::common::Column;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::sql::sqlparser::ast;
use datafusion::sql::unparser::expr_to_sql;

/// An expression in SQL; in the planner's notation if there is no SQL for it.
#[must_use]
pub fn written(expression: &Expr) -> String {
    expr_to_sql(expression).map_or_else(|_| expression.to_string(), |sql| starred(sql).to_string())
}

/// The planner counts rows by counting a literal.
fn starred(mut sql: ast::Expr) -> ast::Expr {
    if let ast::Expr::Function(call) = &mut sql
        && call.name.to_string() == "count"
        && let ast::FunctionArguments::List(list) = &mut call.args
        && let [argument] = list.args.as_mut_slice()
        && argument.to_string() == "1"
    {
        *argument = ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard);
    }
    sql
}

/// A plan for people: what is computed stands there as it was written.
#[must_use]
pub fn plan_as_written(plan: &LogicalPlan) -> String {
    let shown = |expression: &Expr| match expression {
        Expr::ScalarFunction(call) => {
            call.func.inner().downcast_ref::<Computed>().map(|computed| computed.written.clone())
        }
        Expr::Literal(..) => Some(written(expression)),
        _ => None,
    };
    let written = plan.clone().transform_up(|node| {
        node.map_expressions(|expression| {
            expression.transform_up(|part| {
                Ok(match shown(&part) {
                    Some(text) => Transformed::yes(Expr::Column(Column::from_name(text))),
                    None => Transformed::no(part),
                })
            })
        })
    });
    written.map_or_else(|_| plan.clone(), |written| written.data).display_indent().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::functions_aggregate::expr_fn::{count, sum};
    use datafusion::prelude::{col, lit};

    #[test]
    fn literals_and_stars_are_as_people_write_them() {
        for (expression, expected) in [
            (count(lit(1_i64)), "count(*)"),
            (count(col("t.x")), "count(t.x)"),
            (sum(col("t.x") + lit(1_i64)), "sum((t.x + 1))"),
            (col("t.city").eq(lit("Ulm's")), "(t.city = 'Ulm''s')"),
        ] {
            assert_eq!(written(&expression), expected);
        }
    }
}
