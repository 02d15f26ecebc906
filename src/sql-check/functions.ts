// Functions of PostgreSQL that read no table, by how far their result depends on the moment. A function that is not listed
// may run queries of its own, and the check says that it doesn't know.

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

export const SQL_AGGREGATES = words(`
  any_value array_agg avg bit_and bit_or bit_xor bool_and bool_or count every json_agg json_object_agg jsonb_agg
  jsonb_object_agg max min range_agg range_intersect_agg string_agg sum xmlagg corr covar_pop covar_samp regr_avgx
  regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy stddev stddev_pop stddev_samp
  variance var_pop var_samp mode percentile_cont percentile_disc grouping
`);

export const WINDOWS = words(`
  row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value
`);

const IMMUTABLE = words(`
  abs acos asin atan atan2 cbrt ceil ceiling cos cot degrees div exp factorial floor gcd lcm ln log log10 mod pi power
  radians round scale min_scale trim_scale sign sin sqrt tan trunc width_bucket
  ascii bit_length btrim char_length character_length chr decode encode initcap left length lower lpad ltrim md5
  normalize octet_length overlay parse_ident position quote_ident regexp_count regexp_instr regexp_like regexp_match
  regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr repeat replace reverse right
  rpad rtrim sha224 sha256 sha384 sha512 split_part starts_with string_to_array string_to_table strpos substr substring
  to_hex translate trim unistr upper
  array_append array_cat array_dims array_fill array_length array_lower array_ndims array_position array_positions
  array_prepend array_remove array_replace array_upper cardinality trim_array unnest
  get_bit get_byte set_bit set_byte bit_count
  make_date make_time make_timestamp make_interval justify_days justify_hours justify_interval isfinite
  json_array_elements json_array_elements_text json_array_length json_each json_each_text json_extract_path
  json_extract_path_text json_object_keys json_strip_nulls json_typeof json_to_record json_to_recordset jsonb_array_elements
  jsonb_array_elements_text jsonb_array_length jsonb_each jsonb_each_text jsonb_extract_path jsonb_extract_path_text
  jsonb_insert jsonb_object_keys jsonb_path_exists jsonb_path_match jsonb_path_query jsonb_path_query_array
  jsonb_path_query_first jsonb_pretty jsonb_set jsonb_set_lax jsonb_strip_nulls jsonb_to_record jsonb_to_recordset
  jsonb_typeof json_object jsonb_object
  lower_inc upper_inc isempty lower_inf upper_inf range_merge int4range int8range numrange daterange
  num_nonnulls num_nulls hashtext like_escape similar_to_escape
`);

const STABLE = words(`
  now transaction_timestamp statement_timestamp current_setting age to_char to_date to_number to_timestamp date_trunc
  date_part extract date_bin timezone make_timestamptz format concat concat_ws quote_literal quote_nullable
  row_to_json to_json to_jsonb json_build_array json_build_object jsonb_build_array jsonb_build_object array_to_json
  array_to_string json_populate_record json_populate_recordset jsonb_populate_record jsonb_populate_recordset
  generate_series generate_subscripts to_tsvector to_tsquery plainto_tsquery phraseto_tsquery websearch_to_tsquery
  ts_rank ts_rank_cd ts_headline pg_typeof overlaps
`);

const VOLATILE = words('random clock_timestamp gen_random_uuid timeofday random_normal');

export type Volatility = 'immutable' | 'stable' | 'volatile';

export function volatilityOf(name: string): Volatility | undefined {
  if (SQL_AGGREGATES.has(name) || WINDOWS.has(name) || IMMUTABLE.has(name)) return 'immutable';
  if (STABLE.has(name)) return 'stable';
  return VOLATILE.has(name) ? 'volatile' : undefined;
}
