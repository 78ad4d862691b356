//! Which syntax is understood: one walk over the parsed query, before anything is planned.
//!
//! The parser reads far more than is offered here, and the planner leaves some of it out without a
//! word (`TABLESAMPLE`, locks, `FORMAT`). So every struct is taken apart field by field and every
//! enum variant by variant, without `..` and without `_ =>`: what a new version of the parser adds
//! does not compile until somebody has decided what it means. What is not understood is refused by
//! name.

use super::rows::refused;
use crate::error::QueryError;
use datafusion::sql::sqlparser::ast::*;

/// The most values in an `IN` list.
pub(super) const LONGEST_LIST: usize = 10_000;

type Checked = Result<(), QueryError>;

/// Refuses what is not understood in a query.
pub(crate) fn understood(query: &Query) -> Checked {
    let Query {
        with,
        body,
        order_by,
        limit_clause,
        fetch,
        locks,
        for_clause,
        settings,
        format_clause,
        pipe_operators,
    } = query;
    with.as_ref().map_or(Ok(()), common_tables)?;
    set_expression(body)?;
    order_by.as_ref().map_or(Ok(()), order)?;
    limit_clause.as_ref().map_or(Ok(()), limit)?;
    absent(fetch.is_none(), "FETCH", "write LIMIT and a number")?;
    absent(locks.is_empty(), "FOR UPDATE or FOR SHARE", LEAVE_OUT)?;
    absent(
        for_clause.is_none(),
        "FOR XML, FOR JSON or FOR BROWSE",
        "the form of an answer is no part of a query",
    )?;
    absent(settings.is_none(), "SETTINGS", LEAVE_OUT)?;
    absent(format_clause.is_none(), "FORMAT", "the form of an answer is no part of a query")?;
    absent(pipe_operators.is_empty(), "the pipe operator |>", "write the clauses of a SELECT")
}

const LEAVE_OUT: &str = "leave it out";
const NAME_COLUMNS: &str = "name the columns";
const ONE_GROUP_BY: &str = "ask one GROUP BY at a time";

fn no<T>(what: &str, instead: &str) -> Result<T, QueryError> {
    refused(format!("{what} is not offered; {instead}"))
}

fn absent(is_absent: bool, what: &str, instead: &str) -> Checked {
    if is_absent { Ok(()) } else { no(what, instead) }
}

fn all<T>(items: &[T], each: impl Fn(&T) -> Checked) -> Checked {
    items.iter().try_for_each(each)
}

fn optional(part: Option<&Expr>) -> Checked {
    part.map_or(Ok(()), expression)
}

fn common_tables(with: &With) -> Checked {
    let With { with_token: _, recursive, cte_tables } = with;
    absent(!recursive, "WITH RECURSIVE", "name what is needed in a public table")?;
    all(cte_tables, |cte| {
        let Cte { alias, query, from, materialized, closing_paren_token: _ } = cte;
        table_alias(alias)?;
        absent(from.is_none(), "FROM after a common table expression", LEAVE_OUT)?;
        absent(materialized.is_none(), "MATERIALIZED or NOT MATERIALIZED", LEAVE_OUT)?;
        understood(query)
    })
}

fn set_expression(body: &SetExpr) -> Checked {
    match body {
        SetExpr::Select(inner) => select(inner),
        SetExpr::Query(inner) => understood(inner),
        SetExpr::SetOperation { left, op, set_quantifier, right } => {
            match (op, set_quantifier) {
                (
                    SetOperator::Union | SetOperator::Intersect | SetOperator::Except,
                    SetQuantifier::None,
                )
                | (
                    SetOperator::Union | SetOperator::Intersect | SetOperator::Except,
                    SetQuantifier::Distinct,
                )
                | (SetOperator::Union, SetQuantifier::All) => {}
                (SetOperator::Intersect | SetOperator::Except, SetQuantifier::All) => {
                    return no("INTERSECT ALL or EXCEPT ALL", "leave ALL out");
                }
                (
                    SetOperator::Union | SetOperator::Intersect | SetOperator::Except,
                    SetQuantifier::ByName
                    | SetQuantifier::AllByName
                    | SetQuantifier::DistinctByName,
                ) => return no("BY NAME", "put the columns of both sides in one order"),
                (
                    SetOperator::Minus,
                    SetQuantifier::None
                    | SetQuantifier::Distinct
                    | SetQuantifier::All
                    | SetQuantifier::ByName
                    | SetQuantifier::AllByName
                    | SetQuantifier::DistinctByName,
                ) => return no("MINUS", "write EXCEPT"),
            }
            set_expression(left)?;
            set_expression(right)
        }
        SetExpr::Values(Values { explicit_row, value_keyword, rows }) => {
            absent(
                !explicit_row && !value_keyword,
                "VALUES ROW(...) or VALUE",
                "write VALUES (...), (...)",
            )?;
            all(rows, |row| {
                let Parens { opening_token: _, content, closing_token: _ } = row;
                all(content, expression)
            })
        }
        SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
            no("a statement that changes tables", "write a SELECT")
        }
        SetExpr::Table(_) => no("TABLE t", "write SELECT * FROM t"),
    }
}

fn select(select: &Select) -> Checked {
    let Select {
        select_token: _,
        optimizer_hints,
        distinct,
        select_modifiers,
        top,
        top_before_distinct: _,
        projection,
        exclude,
        into,
        from,
        lateral_views,
        prewhere,
        selection,
        connect_by,
        group_by,
        cluster_by,
        distribute_by,
        sort_by,
        having,
        named_window,
        qualify,
        window_before_qualify: _,
        value_table_mode,
        flavor,
    } = select;
    absent(optimizer_hints.is_empty(), "an optimizer hint", LEAVE_OUT)?;
    match distinct {
        None | Some(Distinct::All | Distinct::Distinct) => {}
        Some(Distinct::On(_)) => return no("DISTINCT ON", "write GROUP BY with an aggregate"),
    }
    absent(select_modifiers.is_none(), "a modifier after SELECT", LEAVE_OUT)?;
    absent(top.is_none(), "TOP", "write LIMIT and a number")?;
    all(projection, item)?;
    absent(exclude.is_none(), "EXCLUDE after the columns", NAME_COLUMNS)?;
    absent(into.is_none(), "SELECT INTO", "a query is answered, and makes no table")?;
    all(from, tables)?;
    absent(lateral_views.is_empty(), "LATERAL VIEW", "write a join with a public table")?;
    absent(prewhere.is_none(), "PREWHERE", "write WHERE")?;
    optional(selection.as_ref())?;
    absent(connect_by.is_empty(), "CONNECT BY", "name what is needed in a public table")?;
    match group_by {
        GroupByExpr::All(_) => return no("GROUP BY ALL", "name the keys"),
        GroupByExpr::Expressions(keys, modifiers) => {
            absent(
                modifiers.is_empty(),
                "GROUP BY WITH ROLLUP, CUBE, TOTALS or GROUPING SETS",
                ONE_GROUP_BY,
            )?;
            all(keys, expression)?;
        }
    }
    absent(cluster_by.is_empty(), "CLUSTER BY", LEAVE_OUT)?;
    absent(distribute_by.is_empty(), "DISTRIBUTE BY", LEAVE_OUT)?;
    absent(sort_by.is_empty(), "SORT BY", "write ORDER BY")?;
    optional(having.as_ref())?;
    absent(named_window.is_empty(), "WINDOW", "group in a sub-query instead")?;
    absent(qualify.is_none(), "QUALIFY", "group in a sub-query instead")?;
    absent(value_table_mode.is_none(), "SELECT AS STRUCT or AS VALUE", NAME_COLUMNS)?;
    match flavor {
        SelectFlavor::Standard => Ok(()),
        SelectFlavor::FromFirst | SelectFlavor::FromFirstNoSelect => {
            no("FROM before SELECT", "write SELECT first")
        }
    }
}

fn item(item: &SelectItem) -> Checked {
    match item {
        SelectItem::UnnamedExpr(inner) => expression(inner),
        SelectItem::ExprWithAlias { expr, alias: _ } => expression(expr),
        SelectItem::ExprWithAliases { expr: _, aliases: _ } => {
            no("an expression with several names", NAME_COLUMNS)
        }
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(_), options)
        | SelectItem::Wildcard(options) => wildcard(options),
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::Expr(_), _) => {
            no(".* of an expression", NAME_COLUMNS)
        }
    }
}

fn wildcard(options: &WildcardAdditionalOptions) -> Checked {
    let WildcardAdditionalOptions {
        wildcard_token: _,
        opt_ilike,
        // Columns that are left out: names, nothing more.
        opt_exclude: _,
        opt_except: _,
        opt_replace,
        opt_rename,
        opt_alias,
    } = options;
    let plain =
        opt_ilike.is_none() && opt_replace.is_none() && opt_rename.is_none() && opt_alias.is_none();
    absent(plain, "ILIKE, REPLACE, RENAME or AS after *", NAME_COLUMNS)
}

fn tables(from: &TableWithJoins) -> Checked {
    let TableWithJoins { relation, joins } = from;
    table(relation)?;
    all(joins, |join| {
        let Join { relation, global, join_operator } = join;
        absent(!global, "GLOBAL JOIN", "leave GLOBAL out")?;
        table(relation)?;
        match join_operator {
            JoinOperator::Join(on)
            | JoinOperator::Inner(on)
            | JoinOperator::Left(on)
            | JoinOperator::LeftOuter(on)
            | JoinOperator::Right(on)
            | JoinOperator::RightOuter(on)
            | JoinOperator::FullOuter(on)
            | JoinOperator::CrossJoin(on)
            | JoinOperator::Semi(on)
            | JoinOperator::LeftSemi(on)
            | JoinOperator::RightSemi(on)
            | JoinOperator::Anti(on)
            | JoinOperator::LeftAnti(on)
            | JoinOperator::RightAnti(on) => match on {
                JoinConstraint::On(condition) => expression(condition),
                JoinConstraint::Using(_) | JoinConstraint::Natural | JoinConstraint::None => Ok(()),
            },
            JoinOperator::CrossApply | JoinOperator::OuterApply => no("APPLY", "write JOIN ... ON"),
            JoinOperator::AsOf { match_condition: _, constraint: _ } => {
                no("ASOF JOIN", "write JOIN ... ON")
            }
            JoinOperator::StraightJoin(_) => no("STRAIGHT_JOIN", "write JOIN ... ON"),
            JoinOperator::ArrayJoin
            | JoinOperator::LeftArrayJoin
            | JoinOperator::InnerArrayJoin => no("ARRAY JOIN", "write JOIN ... ON"),
        }
    })
}

fn table(factor: &TableFactor) -> Checked {
    const SAMPLE: &str =
        "rows are bounded and noise is added anyway: leave it out, or filter with WHERE";
    const PUBLIC: &str = "read it from a public table of the policy";
    let named = |alias: &Option<TableAlias>| alias.as_ref().map_or(Ok(()), table_alias);
    match factor {
        TableFactor::Table {
            name: _,
            alias,
            args,
            with_hints,
            version,
            with_ordinality,
            partitions,
            json_path,
            sample,
            index_hints,
        } => {
            absent(args.is_none(), "a function in FROM", PUBLIC)?;
            absent(
                with_hints.is_empty() && index_hints.is_empty(),
                "a hint after a table",
                LEAVE_OUT,
            )?;
            absent(version.is_none(), "a version of a table (AS OF)", LEAVE_OUT)?;
            absent(!with_ordinality, "WITH ORDINALITY", LEAVE_OUT)?;
            absent(partitions.is_empty(), "PARTITION after a table", "write WHERE")?;
            absent(json_path.is_none(), "a path after a table", NAME_COLUMNS)?;
            absent(sample.is_none(), "TABLESAMPLE", SAMPLE)?;
            named(alias)
        }
        TableFactor::Derived { lateral, subquery, alias, sample } => {
            absent(!lateral, "LATERAL", "write a join")?;
            absent(sample.is_none(), "TABLESAMPLE", SAMPLE)?;
            named(alias)?;
            understood(subquery)
        }
        TableFactor::NestedJoin { table_with_joins, alias } => {
            named(alias)?;
            tables(table_with_joins)
        }
        TableFactor::TableFunction { expr: _, alias: _ } => no("TABLE(...) in FROM", PUBLIC),
        TableFactor::Function { lateral: _, name: _, args: _, with_ordinality: _, alias: _ } => {
            no("a function in FROM", PUBLIC)
        }
        TableFactor::UNNEST {
            alias: _,
            array_exprs: _,
            with_offset: _,
            with_offset_alias: _,
            with_ordinality: _,
        } => no("UNNEST", PUBLIC),
        TableFactor::JsonTable { json_expr: _, json_path: _, columns: _, alias: _ }
        | TableFactor::OpenJsonTable { json_expr: _, json_path: _, columns: _, alias: _ } => {
            no("JSON_TABLE or OPENJSON", PUBLIC)
        }
        TableFactor::XmlTable {
            namespaces: _,
            row_expression: _,
            passing: _,
            columns: _,
            alias: _,
        } => no("XMLTABLE", PUBLIC),
        TableFactor::Pivot {
            table: _,
            aggregate_functions: _,
            value_column: _,
            value_source: _,
            default_on_null: _,
            alias: _,
        } => no("PIVOT", "write an aggregate with FILTER for each column"),
        TableFactor::Unpivot {
            table: _,
            value: _,
            name: _,
            columns: _,
            null_inclusion: _,
            alias: _,
        } => no("UNPIVOT", "write UNION ALL of the columns"),
        TableFactor::MatchRecognize {
            table: _,
            partition_by: _,
            order_by: _,
            measures: _,
            rows_per_match: _,
            after_match_skip: _,
            pattern: _,
            symbols: _,
            alias: _,
        } => no("MATCH_RECOGNIZE", "aggregate by the privacy unit in a sub-query"),
        TableFactor::SemanticView {
            name: _,
            dimensions: _,
            metrics: _,
            facts: _,
            where_clause: _,
            alias: _,
        } => no("SEMANTIC_VIEW", "write a SELECT"),
    }
}

fn table_alias(alias: &TableAlias) -> Checked {
    let TableAlias { explicit: _, name: _, columns, at } = alias;
    absent(at.is_none(), "AT after the name of a table", LEAVE_OUT)?;
    all(columns, |column| {
        let TableAliasColumnDef { name: _, data_type } = column;
        absent(data_type.is_none(), "a type in a list of column names", "write CAST in the SELECT")
    })
}

fn order(order: &OrderBy) -> Checked {
    let OrderBy { kind, interpolate } = order;
    absent(interpolate.is_none(), "INTERPOLATE", LEAVE_OUT)?;
    match kind {
        OrderByKind::All(_) => no("ORDER BY ALL", NAME_COLUMNS),
        OrderByKind::Expressions(keys) => all(keys, order_key),
    }
}

fn order_key(key: &OrderByExpr) -> Checked {
    let OrderByExpr { expr, options: OrderByOptions { asc: _, nulls_first: _ }, with_fill } = key;
    absent(with_fill.is_none(), "WITH FILL", LEAVE_OUT)?;
    expression(expr)
}

/// A limit is a number that stands in the query: one that had to be computed could fail, or depend
/// on what is released.
fn limit(clause: &LimitClause) -> Checked {
    let number = |part: &Expr, of: &str| match part {
        Expr::Value(ValueWithSpan { value: Value::Number(digits, _), span: _ })
            if digits.parse::<u64>().is_ok() =>
        {
            Ok(())
        }
        other => {
            refused(format!("{of} {other} is not offered; write a whole number, such as {of} 10"))
        }
    };
    match clause {
        LimitClause::LimitOffset { limit, offset, limit_by } => {
            limit.as_ref().map_or(Ok(()), |limit| number(limit, "LIMIT"))?;
            absent(limit_by.is_empty(), "LIMIT BY", "write LIMIT and a number")?;
            match offset {
                None => Ok(()),
                Some(Offset {
                    value,
                    rows: OffsetRows::None | OffsetRows::Row | OffsetRows::Rows,
                }) => number(value, "OFFSET"),
            }
        }
        LimitClause::OffsetCommaLimit { offset: _, limit: _ } => {
            no("LIMIT m, n", "write LIMIT n OFFSET m")
        }
    }
}

fn expression(expr: &Expr) -> Checked {
    const CALL: &str = "see docs/sql.md for the functions that are";
    match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => Ok(()),
        Expr::Value(inner) => value(inner),
        Expr::IsFalse(inner)
        | Expr::IsNotFalse(inner)
        | Expr::IsTrue(inner)
        | Expr::IsNotTrue(inner)
        | Expr::IsNull(inner)
        | Expr::IsNotNull(inner)
        | Expr::IsUnknown(inner)
        | Expr::IsNotUnknown(inner)
        | Expr::Nested(inner) => expression(inner),
        Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
            expression(left)?;
            expression(right)
        }
        Expr::InList { expr, list, negated: _ } => {
            if list.len() > LONGEST_LIST {
                return refused(format!(
                    "an IN list of {} values is not offered: at most {LONGEST_LIST} are; write a \
                     join with a public table",
                    list.len()
                ));
            }
            expression(expr)?;
            all(list, expression)
        }
        Expr::InSubquery { expr, subquery, negated: _ } => {
            expression(expr)?;
            understood(subquery)
        }
        Expr::Exists { subquery, negated: _ } | Expr::Subquery(subquery) => understood(subquery),
        Expr::Between { expr, negated: _, low, high } => {
            expression(expr)?;
            expression(low)?;
            expression(high)
        }
        Expr::BinaryOp { left, op, right } => {
            binary(op)?;
            expression(left)?;
            expression(right)
        }
        Expr::UnaryOp { op, expr } => {
            unary(op)?;
            expression(expr)
        }
        Expr::Like { negated: _, any, expr, pattern, escape_char }
        | Expr::ILike { negated: _, any, expr, pattern, escape_char } => {
            absent(!any, "LIKE ANY", "join several with OR")?;
            escape_char.as_ref().map_or(Ok(()), value)?;
            expression(expr)?;
            expression(pattern)
        }
        Expr::Cast { kind, expr, data_type: _, array, format } => {
            // What a type may be is checked where the cast is planned.
            match kind {
                CastKind::Cast | CastKind::TryCast | CastKind::SafeCast | CastKind::DoubleColon => {
                }
            }
            absent(
                !array,
                "a cast to an ARRAY",
                "cast to a number, a text, a truth value, a date or a moment",
            )?;
            absent(format.is_none(), "FORMAT in a cast", LEAVE_OUT)?;
            expression(expr)
        }
        Expr::Extract { field: _, syntax: ExtractSyntax::From | ExtractSyntax::Comma, expr } => {
            expression(expr)
        }
        Expr::Ceil { expr, field } | Expr::Floor { expr, field } => match field {
            CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) => expression(expr),
            CeilFloorKind::DateTimeField(_) => {
                no("CEIL or FLOOR to a part of a date", "use DATE_TRUNC")
            }
            CeilFloorKind::Scale(_) => no("CEIL or FLOOR with a scale", "use ROUND"),
        },
        Expr::Position { expr, r#in } => {
            expression(expr)?;
            expression(r#in)
        }
        Expr::Substring { expr, substring_from, substring_for, special: _, shorthand: _ } => {
            expression(expr)?;
            optional(substring_from.as_deref())?;
            optional(substring_for.as_deref())
        }
        Expr::Trim { trim_where, trim_what, expr, trim_characters } => {
            match trim_where {
                None
                | Some(TrimWhereField::Both | TrimWhereField::Leading | TrimWhereField::Trailing) =>
                    {}
            }
            optional(trim_what.as_deref())?;
            expression(expr)?;
            trim_characters.as_ref().map_or(Ok(()), |characters| all(characters, expression))
        }
        Expr::TypedString(TypedString { data_type: _, value: text, uses_odbc_syntax }) => {
            absent(!uses_odbc_syntax, "{d '...'}", "write DATE '...' or TIMESTAMP '...'")?;
            value(text)
        }
        Expr::Function(call) => function(call),
        Expr::Case { case_token: _, end_token: _, operand, conditions, else_result } => {
            optional(operand.as_deref())?;
            all(conditions, |when| {
                let CaseWhen { condition, result } = when;
                expression(condition)?;
                expression(result)
            })?;
            optional(else_result.as_deref())
        }
        Expr::SimilarTo { negated: _, expr: _, pattern: _, escape_char: _ } => {
            no("SIMILAR TO", "use LIKE or REGEXP_LIKE")
        }
        Expr::RLike { negated: _, expr: _, pattern: _, regexp: _ } => {
            no("RLIKE or REGEXP", "use REGEXP_LIKE")
        }
        Expr::AnyOp { left: _, compare_op: _, right: _, is_some: _ }
        | Expr::AllOp { left: _, compare_op: _, right: _ } => {
            no("a comparison with ANY, SOME or ALL", "use IN")
        }
        Expr::InUnnest { expr: _, array_expr: _, negated: _ } => {
            no("IN UNNEST", "write an IN list")
        }
        Expr::GroupingSets(_) | Expr::Cube(_) | Expr::Rollup(_) => {
            no("GROUPING SETS, ROLLUP or CUBE", ONE_GROUP_BY)
        }
        Expr::Interval(Interval {
            value: _,
            leading_field: _,
            leading_precision: _,
            last_field: _,
            fractional_seconds_precision: _,
        }) => no("INTERVAL", "for dates use DATE_PART, DATE_TRUNC and comparisons"),
        Expr::AtTimeZone { timestamp: _, time_zone: _ } => {
            no("AT TIME ZONE", "moments have no time zone here: convert them in the source")
        }
        Expr::Tuple(_) => no("a list in parentheses as a value", "write the columns one by one"),
        Expr::Convert {
            is_try: _,
            expr: _,
            data_type: _,
            charset: _,
            target_before_value: _,
            styles: _,
        } => no("CONVERT", "write CAST"),
        Expr::Overlay { expr: _, overlay_what: _, overlay_from: _, overlay_for: _ } => {
            no("OVERLAY", CALL)
        }
        Expr::Collate { expr: _, collation: _ } => no("COLLATE", "use LOWER or UPPER"),
        Expr::IsNormalized { expr: _, form: _, negated: _ } => no("IS NORMALIZED", CALL),
        Expr::JsonAccess { value: _, path: _ }
        | Expr::CompoundFieldAccess { root: _, access_chain: _ } => {
            no("access to a part of a value", "columns are plain values")
        }
        Expr::Struct { values: _, fields: _ }
        | Expr::Named { expr: _, name: _ }
        | Expr::Dictionary(_)
        | Expr::Map(_)
        | Expr::Array(_)
        | Expr::MemberOf(_) => no("a STRUCT, MAP or ARRAY", "columns are plain values"),
        Expr::Prefixed { prefix: _, value: _ } => no("a text with a prefix", "write '...'"),
        Expr::MatchAgainst { columns: _, match_value: _, opt_search_modifier: _ } => {
            no("MATCH AGAINST", "use LIKE or REGEXP_LIKE")
        }
        Expr::Wildcard(_) | Expr::QualifiedWildcard(_, _) => no("* as a value", NAME_COLUMNS),
        Expr::OuterJoin(_) => no("(+) of an outer join", "write LEFT JOIN ... ON"),
        Expr::Prior(_) => no("PRIOR", "name what is needed in a public table"),
        Expr::Lambda(_) => no("a lambda (x -> ...)", CALL),
    }
}

fn function(call: &Function) -> Checked {
    let Function {
        name,
        uses_odbc_syntax,
        parameters,
        args,
        filter,
        null_treatment,
        over,
        within_group,
    } = call;
    absent(!uses_odbc_syntax, "{fn ...}", "write the function itself")?;
    match parameters {
        FunctionArguments::None => {}
        FunctionArguments::Subquery(_) | FunctionArguments::List(_) => {
            return no("a function with two lists of arguments", "write one list");
        }
    }
    absent(over.is_none(), "a window function (OVER)", "group in a sub-query instead")?;
    absent(
        null_treatment.is_none(),
        "IGNORE NULLS or RESPECT NULLS",
        "use FILTER (WHERE ... IS NOT NULL)",
    )?;
    optional(filter.as_deref())?;
    if !within_group.is_empty() && !name.to_string().eq_ignore_ascii_case("percentile_cont") {
        return no(&format!("WITHIN GROUP of {name}"), "it goes with PERCENTILE_CONT");
    }
    all(within_group, order_key)?;
    let list = match args {
        // CURRENT_DATE and others that are written without parentheses.
        FunctionArguments::None => return Ok(()),
        FunctionArguments::Subquery(_) => {
            return no("a sub-query as the list of arguments", "write one more parenthesis");
        }
        FunctionArguments::List(list) => list,
    };
    let FunctionArgumentList { duplicate_treatment, args, clauses } = list;
    match duplicate_treatment {
        None | Some(DuplicateTreatment::Distinct | DuplicateTreatment::All) => {}
    }
    all(args, |argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(inner)) => expression(inner),
        FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => Ok(()),
        FunctionArg::Unnamed(
            FunctionArgExpr::QualifiedWildcard(_) | FunctionArgExpr::WildcardWithOptions(_),
        ) => no("t.* as an argument", "write COUNT(*)"),
        FunctionArg::Named { name: _, arg: _, operator: _ }
        | FunctionArg::ExprNamed { name: _, arg: _, operator: _ } => {
            no("an argument with a name", "write the arguments in their order")
        }
    })?;
    all(clauses, |clause| match clause {
        FunctionArgumentClause::OrderBy(keys) => all(keys, order_key),
        FunctionArgumentClause::IgnoreOrRespectNulls(_) => {
            no("IGNORE NULLS or RESPECT NULLS", "use FILTER (WHERE ... IS NOT NULL)")
        }
        FunctionArgumentClause::Limit(_) => no("LIMIT in an aggregate", LEAVE_OUT),
        FunctionArgumentClause::OnOverflow(_) => no("ON OVERFLOW", LEAVE_OUT),
        FunctionArgumentClause::Having(_) => no("HAVING in an aggregate", "use FILTER (WHERE ...)"),
        FunctionArgumentClause::Separator(_) => no("SEPARATOR", LEAVE_OUT),
        FunctionArgumentClause::JsonNullClause(_)
        | FunctionArgumentClause::JsonReturningClause(_) => no("a JSON clause", LEAVE_OUT),
    })
}

fn value(value: &ValueWithSpan) -> Checked {
    let ValueWithSpan { value, span: _ } = value;
    match value {
        Value::Number(..)
        | Value::SingleQuotedString(_)
        | Value::EscapedStringLiteral(_)
        | Value::DollarQuotedString(_)
        | Value::Boolean(_)
        | Value::Null => Ok(()),
        Value::Placeholder(_) => no("a placeholder ($1, ?)", "write the value"),
        Value::TripleSingleQuotedString(_)
        | Value::TripleDoubleQuotedString(_)
        | Value::UnicodeStringLiteral(_)
        | Value::SingleQuotedByteStringLiteral(_)
        | Value::DoubleQuotedByteStringLiteral(_)
        | Value::TripleSingleQuotedByteStringLiteral(_)
        | Value::TripleDoubleQuotedByteStringLiteral(_)
        | Value::SingleQuotedRawStringLiteral(_)
        | Value::DoubleQuotedRawStringLiteral(_)
        | Value::TripleSingleQuotedRawStringLiteral(_)
        | Value::TripleDoubleQuotedRawStringLiteral(_)
        | Value::NationalStringLiteral(_)
        | Value::QuoteDelimitedStringLiteral(_)
        | Value::NationalQuoteDelimitedStringLiteral(_)
        | Value::HexStringLiteral(_)
        | Value::DoubleQuotedString(_) => {
            no("a text with a prefix or other quotation marks", "write '...'")
        }
    }
}

fn unary(op: &UnaryOperator) -> Checked {
    match op {
        UnaryOperator::Plus | UnaryOperator::Minus | UnaryOperator::Not => Ok(()),
        UnaryOperator::AtDashAt
        | UnaryOperator::BangNot
        | UnaryOperator::BitwiseNot
        | UnaryOperator::DoubleAt
        | UnaryOperator::Hash
        | UnaryOperator::PGAbs
        | UnaryOperator::PGCubeRoot
        | UnaryOperator::PGPostfixFactorial
        | UnaryOperator::PGPrefixFactorial
        | UnaryOperator::PGSquareRoot
        | UnaryOperator::QuestionDash
        | UnaryOperator::QuestionPipe => {
            no(&format!("the operator {op}"), "see docs/sql.md for those that are")
        }
    }
}

fn binary(op: &BinaryOperator) -> Checked {
    match op {
        BinaryOperator::Plus
        | BinaryOperator::Minus
        | BinaryOperator::Multiply
        | BinaryOperator::Divide
        | BinaryOperator::Modulo
        | BinaryOperator::StringConcat
        | BinaryOperator::Gt
        | BinaryOperator::Lt
        | BinaryOperator::GtEq
        | BinaryOperator::LtEq
        | BinaryOperator::Spaceship
        | BinaryOperator::Eq
        | BinaryOperator::NotEq
        | BinaryOperator::And
        | BinaryOperator::Or
        | BinaryOperator::PGRegexMatch
        | BinaryOperator::PGRegexIMatch
        | BinaryOperator::PGRegexNotMatch
        | BinaryOperator::PGRegexNotIMatch => Ok(()),
        BinaryOperator::Xor
        | BinaryOperator::BitwiseOr
        | BinaryOperator::BitwiseAnd
        | BinaryOperator::BitwiseXor
        | BinaryOperator::DuckIntegerDivide
        | BinaryOperator::MyIntegerDivide
        | BinaryOperator::Match
        | BinaryOperator::Regexp
        | BinaryOperator::Custom(_)
        | BinaryOperator::PGBitwiseXor
        | BinaryOperator::PGBitwiseShiftLeft
        | BinaryOperator::PGBitwiseShiftRight
        | BinaryOperator::PGExp
        | BinaryOperator::PGOverlap
        | BinaryOperator::PGLikeMatch
        | BinaryOperator::PGILikeMatch
        | BinaryOperator::PGNotLikeMatch
        | BinaryOperator::PGNotILikeMatch
        | BinaryOperator::PGStartsWith
        | BinaryOperator::Arrow
        | BinaryOperator::LongArrow
        | BinaryOperator::HashArrow
        | BinaryOperator::HashLongArrow
        | BinaryOperator::AtAt
        | BinaryOperator::AtArrow
        | BinaryOperator::ArrowAt
        | BinaryOperator::HashMinus
        | BinaryOperator::AtQuestion
        | BinaryOperator::Question
        | BinaryOperator::QuestionAnd
        | BinaryOperator::QuestionPipe
        | BinaryOperator::PGCustomBinaryOperator(_)
        | BinaryOperator::Overlaps
        | BinaryOperator::DoubleHash
        | BinaryOperator::LtDashGt
        | BinaryOperator::AndLt
        | BinaryOperator::AndGt
        | BinaryOperator::LtLtPipe
        | BinaryOperator::PipeGtGt
        | BinaryOperator::AndLtPipe
        | BinaryOperator::PipeAndGt
        | BinaryOperator::LtCaret
        | BinaryOperator::GtCaret
        | BinaryOperator::QuestionHash
        | BinaryOperator::QuestionDash
        | BinaryOperator::QuestionDashPipe
        | BinaryOperator::QuestionDoublePipe
        | BinaryOperator::At
        | BinaryOperator::TildeEq
        | BinaryOperator::Assignment => {
            no(&format!("the operator {op}"), "see docs/sql.md for those that are")
        }
    }
}
