//! The embedded engine: which of its rules run, and with which settings.
//!
//! A rule is named here or does not run, so that a new version of the engine brings none unnoticed.
//! None of those below looks at rows or at statistics of them: how a query is run depends on the
//! query, the policy and the public tables. What each operator needs for units to stay apart is in
//! docs/proofs/units_apart.md.

use crate::error::EngineError;
use datafusion::common::config::ConfigOptions;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::UnboundedMemoryPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::optimizer::OptimizerRule;
use datafusion::optimizer::analyzer::AnalyzerRule;
use datafusion::optimizer::analyzer::resolve_grouping_function::ResolveGroupingFunction;
use datafusion::optimizer::analyzer::type_coercion::TypeCoercion;
use datafusion::optimizer::decorrelate_predicate_subquery::DecorrelatePredicateSubquery;
use datafusion::optimizer::eliminate_cross_join::EliminateCrossJoin;
use datafusion::optimizer::extract_equijoin_predicate::ExtractEquijoinPredicate;
use datafusion::optimizer::optimize_projections::OptimizeProjections;
use datafusion::optimizer::optimize_unions::OptimizeUnions;
use datafusion::optimizer::push_down_filter::PushDownFilter;
use datafusion::optimizer::replace_distinct_aggregate::ReplaceDistinctWithAggregate;
use datafusion::optimizer::scalar_subquery_to_join::ScalarSubqueryToJoin;
use datafusion::optimizer::simplify_expressions::SimplifyExpressions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::combine_partial_final_agg::CombinePartialFinalAggregate;
use datafusion::physical_optimizer::ensure_requirements::EnsureRequirements;
use datafusion::physical_optimizer::output_requirements::OutputRequirements;
use datafusion::physical_optimizer::projection_pushdown::ProjectionPushdown;
use datafusion::physical_optimizer::sanity_checker::SanityCheckPlan;
use datafusion::prelude::{SessionConfig, SessionContext};
use std::sync::Arc;

/// Types of expressions are made to agree.
fn analyzer_rules() -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    vec![Arc::new(ResolveGroupingFunction::new()), Arc::new(TypeCoercion::new())]
}

/// From a plan to an equal one. These see names, types and literals, never a row.
fn logical_rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    vec![
        Arc::new(OptimizeUnions::new()),
        Arc::new(SimplifyExpressions::new()),
        Arc::new(ReplaceDistinctWithAggregate::new()),
        // Sub-queries are left in public parts only.
        Arc::new(DecorrelatePredicateSubquery::new()),
        Arc::new(ScalarSubqueryToJoin::new()),
        Arc::new(ExtractEquijoinPredicate::new()),
        Arc::new(EliminateCrossJoin::new()),
        Arc::new(PushDownFilter::new()),
        Arc::new(OptimizeProjections::new()),
    ]
}

/// From an equal plan to one that runs: rows are sent to the threads that need them, and columns
/// that nobody asks for are not read. There is none that chooses the sides of a join by their
/// sizes, answers from statistics of files, passes the keys of one side of a join, or the best rows
/// so far, to a scan (dynamic filters), or stops early.
fn physical_rules() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    vec![
        Arc::new(OutputRequirements::new_add_mode()),
        Arc::new(EnsureRequirements::new()),
        Arc::new(CombinePartialFinalAggregate::new()),
        Arc::new(ProjectionPushdown::new()),
        Arc::new(OutputRequirements::new_remove_mode()),
        Arc::new(SanityCheckPlan::new()),
    ]
}

/// Settings: nothing of the environment, numbers as they are written, and nothing that rows decide.
fn settings() -> ConfigOptions {
    let mut options = ConfigOptions::new();
    options.sql_parser.parse_float_as_decimal = false;
    let execution = &mut options.execution;
    execution.collect_statistics = false;
    execution.use_row_number_estimates_to_optimize_partitioning = false;
    execution.split_file_groups_by_statistics = false;
    execution.enable_recursive_ctes = false;
    // One way to find the matches of a join, whatever the keys are.
    execution.perfect_hash_join_small_build_threshold = 0;
    execution.perfect_hash_join_min_key_density = f64::INFINITY;
    execution.hash_join_buffering_capacity = 0;
    execution.enforce_batch_size_in_joins = true;
    let optimizer = &mut options.optimizer;
    optimizer.enable_dynamic_filter_pushdown = false;
    optimizer.enable_join_dynamic_filter_pushdown = false;
    optimizer.enable_topk_dynamic_filter_pushdown = false;
    optimizer.enable_aggregate_dynamic_filter_pushdown = false;
    optimizer.enable_topk_aggregation = false;
    optimizer.enable_distinct_aggregation_soft_limit = false;
    optimizer.enable_sort_pushdown = false;
    optimizer.join_reordering = false;
    optimizer.use_statistics_registry = false;
    // The left side of a join is held in memory, once, and the right side streams past it.
    optimizer.prefer_hash_join = true;
    optimizer.repartition_joins = false;
    optimizer.enable_piecewise_merge_join = false;
    optimizer.skip_failed_rules = false;
    options
}

/// The engine.
///
/// It has no limit of memory: at one it would stop with an error that rows decide, exactly and each
/// time, where a machine without memory is a matter of everything that runs on it. And it writes no
/// file.
pub(crate) fn context() -> Result<SessionContext, EngineError> {
    let config = SessionConfig::from(settings()).with_information_schema(false);
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(UnboundedMemoryPool::default()))
        .with_disk_manager_builder(
            DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled),
        )
        .build_arc()
        .map_err(|_| EngineError::Fault { part: "the engine's settings" })?;
    let state = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime)
        .with_default_features()
        .with_analyzer_rules(analyzer_rules())
        .with_optimizer_rules(logical_rules())
        .with_physical_optimizer_rules(physical_rules())
        .build();
    Ok(SessionContext::new_with_state(state))
}

/// The same engine for public parts, on one thread: their rows come in the same order each time.
pub fn public_state(state: &SessionState) -> SessionState {
    let config = state.config().clone().with_target_partitions(1);
    SessionStateBuilder::new_from_existing(state.clone()).with_config(config).build()
}
