/* ridge_calls.h: written by tools/callsites from ridge.h, which includes it at its end. Do not edit. */
#ifndef RIDGE_H
#include "ridge.h"
#elif !defined RIDGE_CALLS_H
#define RIDGE_CALLS_H
/* clang-format off */
RG_API rg_tensor rg_keep_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_from_at(const char *file, int line, rg_ctx *c, rg_dtype dt, const void *data, rg_ints shape);
RG_API rg_status rg_read_at(const char *file, int line, rg_tensor x, void *out, size_t bytes);
RG_API double rg_item_at(const char *file, int line, rg_tensor x);
RG_API rg_status rg_read_async_at(const char *file, int line, rg_tensor x, void *out, size_t bytes);
RG_API rg_status rg_wait_at(const char *file, int line, rg_ctx *c);
RG_API rg_status rg_realize_at(const char *file, int line, rg_tensor x);
RG_API rg_status rg_realize_all_at(const char *file, int line, rg_tensors xs);
RG_API rg_tensor rg_copy_to_at(const char *file, int line, rg_ctx *c, rg_tensor x);
RG_API rg_tensor rg_number_at(const char *file, int line, rg_ctx *c, rg_dtype dt, double v);
RG_API rg_tensor rg_integer_at(const char *file, int line, rg_ctx *c, rg_dtype dt, int64_t v);
RG_API rg_tensor rg_full_at(const char *file, int line, rg_ctx *c, rg_dtype dt, double v, rg_ints shape);
RG_API rg_tensor rg_zeros_at(const char *file, int line, rg_ctx *c, rg_dtype dt, rg_ints shape);
RG_API rg_tensor rg_ones_at(const char *file, int line, rg_ctx *c, rg_dtype dt, rg_ints shape);
RG_API rg_tensor rg_arange_at(const char *file, int line, rg_ctx *c, rg_dtype dt, double start, double stop, double step);
RG_API rg_tensor rg_linspace_at(const char *file, int line, rg_ctx *c, rg_dtype dt, double start, double stop, int64_t n);
RG_API rg_tensor rg_eye_at(const char *file, int line, rg_ctx *c, rg_dtype dt, int64_t rows, int64_t columns);
RG_API rg_tensor rg_full_like_at(const char *file, int line, rg_tensor x, double v);
RG_API rg_tensor rg_zeros_like_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_ones_like_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_scalar_at(const char *file, int line, rg_ctx *c, rg_dtype dt, double v);
RG_API rg_tensor rg_index_at(const char *file, int line, rg_ctx *c, int64_t least, int64_t greatest, int64_t v);
RG_API rg_status rg_set_scalar_at(const char *file, int line, rg_tensor s, double v);
RG_API rg_status rg_assign_at(const char *file, int line, rg_tensor x, rg_operand v);
RG_API rg_status rg_assign_slice_at(const char *file, int line, rg_tensor x, rg_operand v, rg_ranges part);
RG_API rg_status rg_grad_at(const char *file, int line, rg_tensor of, rg_tensors wrt, rg_tensor *out, rg_grad_opts o);
RG_API rg_tensor rg_param_at(const char *file, int line, rg_tensor x);
RG_API rg_status rg_backward_at(const char *file, int line, rg_tensor loss);
RG_API rg_tensor rg_param_grad_at(const char *file, int line, rg_tensor p);
RG_API rg_status rg_zero_grad_at(const char *file, int line, rg_ctx *c);
RG_API rg_tensor rg_detach_at(const char *file, int line, rg_tensor x);
RG_API rg_dtype rg_dtype_of_at(const char *file, int line, rg_tensor x);
RG_API int64_t rg_rank_at(const char *file, int line, rg_tensor x);
RG_API int64_t rg_dim_at(const char *file, int line, rg_tensor x, int64_t axis);
RG_API int64_t rg_size_at(const char *file, int line, rg_tensor x);
RG_API int64_t rg_bytes_at(const char *file, int line, rg_tensor x);
RG_API int64_t rg_shape_of_at(const char *file, int line, rg_tensor x, int64_t *dims, size_t room);
RG_API rg_tensor rg_reshape_at(const char *file, int line, rg_tensor x, rg_ints shape);
RG_API rg_tensor rg_permute_at(const char *file, int line, rg_tensor x, rg_ints axes);
RG_API rg_tensor rg_transpose_at(const char *file, int line, rg_tensor x, int64_t a, int64_t b);
RG_API rg_tensor rg_expand_at(const char *file, int line, rg_tensor x, rg_ints shape);
RG_API rg_tensor rg_slice_at(const char *file, int line, rg_tensor x, rg_ranges part);
RG_API rg_tensor rg_narrow_at(const char *file, int line, rg_tensor x, int64_t axis, int64_t start, int64_t size);
RG_API rg_tensor rg_select_at(const char *file, int line, rg_tensor x, int64_t axis, int64_t at);
RG_API rg_tensor rg_flip_at(const char *file, int line, rg_tensor x, rg_ints axes);
RG_API rg_tensor rg_squeeze_at(const char *file, int line, rg_tensor x, int64_t axis);
RG_API rg_tensor rg_unsqueeze_at(const char *file, int line, rg_tensor x, int64_t axis);
RG_API rg_tensor rg_flatten_at(const char *file, int line, rg_tensor x, int64_t first, int64_t last);
RG_API rg_tensor rg_pad_at(const char *file, int line, rg_tensor x, rg_ints before_after, double v);
RG_API rg_tensor rg_cat_at(const char *file, int line, rg_tensors xs, int64_t axis);
RG_API rg_tensor rg_stack_at(const char *file, int line, rg_tensors xs, int64_t axis);
RG_API rg_tensor rg_repeat_at(const char *file, int line, rg_tensor x, rg_ints times);
RG_API rg_tensor rg_contiguous_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_cast_at(const char *file, int line, rg_tensor x, rg_dtype dt);
RG_API rg_tensor rg_bitcast_at(const char *file, int line, rg_tensor x, rg_dtype dt);
RG_API rg_tensor rg_neg_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_abs_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_sign_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_square_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_sqrt_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_rsqrt_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_recip_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_exp_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_exp2_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_expm1_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_log_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_log2_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_log10_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_log1p_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_sin_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_cos_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_tan_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_sinh_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_cosh_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_tanh_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_asin_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_acos_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_atan_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_erf_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_floor_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_ceil_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_trunc_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_round_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_isnan_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_isinf_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_isfinite_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_logical_not_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_bitwise_not_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_relu_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_relu6_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_sigmoid_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_logsigmoid_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_silu_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_gelu_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_gelu_tanh_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_softplus_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_mish_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_hardswish_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_softsign_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_leaky_relu_at(const char *file, int line, rg_tensor x, double slope);
RG_API rg_tensor rg_elu_at(const char *file, int line, rg_tensor x, double alpha);
RG_API rg_tensor rg_hardtanh_at(const char *file, int line, rg_tensor x, double lo, double hi);
RG_API rg_tensor rg_add_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_sub_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_mul_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_div_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_floordiv_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_mod_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_fmod_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_pow_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_maximum_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_minimum_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_eq_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_ne_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_lt_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_le_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_gt_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_ge_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_logical_and_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_logical_or_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_logical_xor_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_bitwise_and_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_bitwise_or_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_bitwise_xor_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_shl_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_shr_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_copysign_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_logaddexp_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_where_at(const char *file, int line, rg_operand cond, rg_operand x, rg_operand y);
RG_API rg_tensor rg_clamp_at(const char *file, int line, rg_tensor x, rg_operand lo, rg_operand hi);
RG_API rg_tensor rg_lerp_at(const char *file, int line, rg_operand a, rg_operand b, rg_operand w);
RG_API rg_tensor rg_sum_at(const char *file, int line, rg_tensor x, rg_reduce_opts o);
RG_API rg_tensor rg_prod_at(const char *file, int line, rg_tensor x, rg_reduce_opts o);
RG_API rg_tensor rg_max_at(const char *file, int line, rg_tensor x, rg_reduce_opts o);
RG_API rg_tensor rg_min_at(const char *file, int line, rg_tensor x, rg_reduce_opts o);
RG_API rg_tensor rg_mean_at(const char *file, int line, rg_tensor x, rg_reduce_opts o);
RG_API rg_tensor rg_any_at(const char *file, int line, rg_tensor x, rg_reduce_opts o);
RG_API rg_tensor rg_all_at(const char *file, int line, rg_tensor x, rg_reduce_opts o);
RG_API rg_tensor rg_logsumexp_at(const char *file, int line, rg_tensor x, rg_reduce_opts o);
RG_API rg_tensor rg_var_at(const char *file, int line, rg_tensor x, rg_reduce_opts o);
RG_API rg_tensor rg_std_at(const char *file, int line, rg_tensor x, rg_reduce_opts o);
RG_API rg_tensor rg_argmax_at(const char *file, int line, rg_tensor x, rg_reduce_opts o);
RG_API rg_tensor rg_argmin_at(const char *file, int line, rg_tensor x, rg_reduce_opts o);
RG_API rg_tensor rg_cumsum_at(const char *file, int line, rg_tensor x, int64_t axis);
RG_API rg_tensor rg_cumprod_at(const char *file, int line, rg_tensor x, int64_t axis);
RG_API rg_tensor rg_cummax_at(const char *file, int line, rg_tensor x, int64_t axis);
RG_API rg_tensor rg_softmax_at(const char *file, int line, rg_tensor x, int64_t axis);
RG_API rg_tensor rg_log_softmax_at(const char *file, int line, rg_tensor x, int64_t axis);
RG_API rg_tensor rg_layernorm_at(const char *file, int line, rg_tensor x, rg_tensor weight, rg_tensor bias, rg_norm_opts o);
RG_API rg_tensor rg_rmsnorm_at(const char *file, int line, rg_tensor x, rg_tensor weight, rg_norm_opts o);
RG_API rg_tensor rg_matmul_at(const char *file, int line, rg_tensor x, rg_tensor y);
RG_API rg_tensor rg_dot_at(const char *file, int line, rg_tensor x, rg_tensor y);
RG_API rg_tensor rg_outer_at(const char *file, int line, rg_tensor x, rg_tensor y);
RG_API rg_tensor rg_linear_at(const char *file, int line, rg_tensor x, rg_tensor weight, rg_tensor bias);
RG_API rg_tensor rg_gather_at(const char *file, int line, rg_tensor x, int64_t axis, rg_tensor index);
RG_API rg_tensor rg_take_at(const char *file, int line, rg_tensor x, int64_t axis, rg_tensor index);
RG_API rg_tensor rg_scatter_add_at(const char *file, int line, rg_tensor x, int64_t axis, rg_tensor index, rg_tensor src);
RG_API rg_status rg_schedule_stats_at(const char *file, int line, rg_tensors xs, rg_plan_stats *out);
RG_API rg_status rg_stats_at(const char *file, int line, rg_ctx *c, rg_usage *out);

#if !defined __cplusplus && !defined RG_NO_SITES
#define rg_keep(x) rg_keep_at(RG_HERE, x)
#define rg_from(...) rg_from_at(RG_HERE, __VA_ARGS__)
#define rg_read(x, ...) rg_read_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_item(x) rg_item_at(RG_HERE, RG_ARG(x, #x))
#define rg_read_async(x, ...) rg_read_async_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_wait(...) rg_wait_at(RG_HERE, __VA_ARGS__)
#define rg_realize(x) rg_realize_at(RG_HERE, RG_ARG(x, #x))
#define rg_realize_all(...) rg_realize_all_at(RG_HERE, __VA_ARGS__)
#define rg_copy_to(c, x) rg_copy_to_at(RG_HERE, c, RG_ARG(x, #x))
#define rg_number(...) rg_number_at(RG_HERE, __VA_ARGS__)
#define rg_integer(...) rg_integer_at(RG_HERE, __VA_ARGS__)
#define rg_full(...) rg_full_at(RG_HERE, __VA_ARGS__)
#define rg_zeros(...) rg_zeros_at(RG_HERE, __VA_ARGS__)
#define rg_ones(...) rg_ones_at(RG_HERE, __VA_ARGS__)
#define rg_arange(...) rg_arange_at(RG_HERE, __VA_ARGS__)
#define rg_linspace(...) rg_linspace_at(RG_HERE, __VA_ARGS__)
#define rg_eye(...) rg_eye_at(RG_HERE, __VA_ARGS__)
#define rg_full_like(x, ...) rg_full_like_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_zeros_like(x) rg_zeros_like_at(RG_HERE, RG_ARG(x, #x))
#define rg_ones_like(x) rg_ones_like_at(RG_HERE, RG_ARG(x, #x))
#define rg_scalar(...) rg_scalar_at(RG_HERE, __VA_ARGS__)
#define rg_index(...) rg_index_at(RG_HERE, __VA_ARGS__)
#define rg_set_scalar(s, ...) rg_set_scalar_at(RG_HERE, RG_ARG(s, #s), __VA_ARGS__)
#define rg_assign(x, v) rg_assign_at(RG_HERE, RG_ARG(x, #x), RG_OPERAND(v, #v))
#define rg_assign_slice(x, v, ...) rg_assign_slice_at(RG_HERE, RG_ARG(x, #x), RG_OPERAND(v, #v), __VA_ARGS__)
#define rg_grad(of, wrt, out, ...) rg_grad_at(RG_HERE, RG_ARG(of, #of), wrt, out, (rg_grad_opts){.zero_ = 0, __VA_ARGS__})
#define rg_param(x) rg_param_at(RG_HERE, RG_ARG(x, #x))
#define rg_backward(loss) rg_backward_at(RG_HERE, RG_ARG(loss, #loss))
#define rg_param_grad(p) rg_param_grad_at(RG_HERE, RG_ARG(p, #p))
#define rg_zero_grad(...) rg_zero_grad_at(RG_HERE, __VA_ARGS__)
#define rg_detach(x) rg_detach_at(RG_HERE, RG_ARG(x, #x))
#define rg_dtype_of(x) rg_dtype_of_at(RG_HERE, RG_ARG(x, #x))
#define rg_rank(x) rg_rank_at(RG_HERE, RG_ARG(x, #x))
#define rg_dim(x, ...) rg_dim_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_size(x) rg_size_at(RG_HERE, RG_ARG(x, #x))
#define rg_bytes(x) rg_bytes_at(RG_HERE, RG_ARG(x, #x))
#define rg_shape_of(x, ...) rg_shape_of_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_reshape(x, ...) rg_reshape_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_permute(x, ...) rg_permute_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_transpose(x, ...) rg_transpose_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_expand(x, ...) rg_expand_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_slice(x, ...) rg_slice_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_narrow(x, ...) rg_narrow_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_select(x, ...) rg_select_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_flip(x, ...) rg_flip_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_squeeze(x, ...) rg_squeeze_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_unsqueeze(x, ...) rg_unsqueeze_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_flatten(x, ...) rg_flatten_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_pad(x, ...) rg_pad_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_cat(...) rg_cat_at(RG_HERE, __VA_ARGS__)
#define rg_stack(...) rg_stack_at(RG_HERE, __VA_ARGS__)
#define rg_repeat(x, ...) rg_repeat_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_contiguous(x) rg_contiguous_at(RG_HERE, RG_ARG(x, #x))
#define rg_cast(x, ...) rg_cast_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_bitcast(x, ...) rg_bitcast_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_neg(x) rg_neg_at(RG_HERE, RG_ARG(x, #x))
#define rg_abs(x) rg_abs_at(RG_HERE, RG_ARG(x, #x))
#define rg_sign(x) rg_sign_at(RG_HERE, RG_ARG(x, #x))
#define rg_square(x) rg_square_at(RG_HERE, RG_ARG(x, #x))
#define rg_sqrt(x) rg_sqrt_at(RG_HERE, RG_ARG(x, #x))
#define rg_rsqrt(x) rg_rsqrt_at(RG_HERE, RG_ARG(x, #x))
#define rg_recip(x) rg_recip_at(RG_HERE, RG_ARG(x, #x))
#define rg_exp(x) rg_exp_at(RG_HERE, RG_ARG(x, #x))
#define rg_exp2(x) rg_exp2_at(RG_HERE, RG_ARG(x, #x))
#define rg_expm1(x) rg_expm1_at(RG_HERE, RG_ARG(x, #x))
#define rg_log(x) rg_log_at(RG_HERE, RG_ARG(x, #x))
#define rg_log2(x) rg_log2_at(RG_HERE, RG_ARG(x, #x))
#define rg_log10(x) rg_log10_at(RG_HERE, RG_ARG(x, #x))
#define rg_log1p(x) rg_log1p_at(RG_HERE, RG_ARG(x, #x))
#define rg_sin(x) rg_sin_at(RG_HERE, RG_ARG(x, #x))
#define rg_cos(x) rg_cos_at(RG_HERE, RG_ARG(x, #x))
#define rg_tan(x) rg_tan_at(RG_HERE, RG_ARG(x, #x))
#define rg_sinh(x) rg_sinh_at(RG_HERE, RG_ARG(x, #x))
#define rg_cosh(x) rg_cosh_at(RG_HERE, RG_ARG(x, #x))
#define rg_tanh(x) rg_tanh_at(RG_HERE, RG_ARG(x, #x))
#define rg_asin(x) rg_asin_at(RG_HERE, RG_ARG(x, #x))
#define rg_acos(x) rg_acos_at(RG_HERE, RG_ARG(x, #x))
#define rg_atan(x) rg_atan_at(RG_HERE, RG_ARG(x, #x))
#define rg_erf(x) rg_erf_at(RG_HERE, RG_ARG(x, #x))
#define rg_floor(x) rg_floor_at(RG_HERE, RG_ARG(x, #x))
#define rg_ceil(x) rg_ceil_at(RG_HERE, RG_ARG(x, #x))
#define rg_trunc(x) rg_trunc_at(RG_HERE, RG_ARG(x, #x))
#define rg_round(x) rg_round_at(RG_HERE, RG_ARG(x, #x))
#define rg_isnan(x) rg_isnan_at(RG_HERE, RG_ARG(x, #x))
#define rg_isinf(x) rg_isinf_at(RG_HERE, RG_ARG(x, #x))
#define rg_isfinite(x) rg_isfinite_at(RG_HERE, RG_ARG(x, #x))
#define rg_logical_not(x) rg_logical_not_at(RG_HERE, RG_ARG(x, #x))
#define rg_bitwise_not(x) rg_bitwise_not_at(RG_HERE, RG_ARG(x, #x))
#define rg_relu(x) rg_relu_at(RG_HERE, RG_ARG(x, #x))
#define rg_relu6(x) rg_relu6_at(RG_HERE, RG_ARG(x, #x))
#define rg_sigmoid(x) rg_sigmoid_at(RG_HERE, RG_ARG(x, #x))
#define rg_logsigmoid(x) rg_logsigmoid_at(RG_HERE, RG_ARG(x, #x))
#define rg_silu(x) rg_silu_at(RG_HERE, RG_ARG(x, #x))
#define rg_gelu(x) rg_gelu_at(RG_HERE, RG_ARG(x, #x))
#define rg_gelu_tanh(x) rg_gelu_tanh_at(RG_HERE, RG_ARG(x, #x))
#define rg_softplus(x) rg_softplus_at(RG_HERE, RG_ARG(x, #x))
#define rg_mish(x) rg_mish_at(RG_HERE, RG_ARG(x, #x))
#define rg_hardswish(x) rg_hardswish_at(RG_HERE, RG_ARG(x, #x))
#define rg_softsign(x) rg_softsign_at(RG_HERE, RG_ARG(x, #x))
#define rg_leaky_relu(x, ...) rg_leaky_relu_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_elu(x, ...) rg_elu_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_hardtanh(x, ...) rg_hardtanh_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_add(x, y) rg_add_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_sub(x, y) rg_sub_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_mul(x, y) rg_mul_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_div(x, y) rg_div_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_floordiv(x, y) rg_floordiv_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_mod(x, y) rg_mod_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_fmod(x, y) rg_fmod_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_pow(x, y) rg_pow_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_maximum(x, y) rg_maximum_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_minimum(x, y) rg_minimum_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_eq(x, y) rg_eq_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_ne(x, y) rg_ne_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_lt(x, y) rg_lt_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_le(x, y) rg_le_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_gt(x, y) rg_gt_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_ge(x, y) rg_ge_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_logical_and(x, y) rg_logical_and_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_logical_or(x, y) rg_logical_or_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_logical_xor(x, y) rg_logical_xor_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_bitwise_and(x, y) rg_bitwise_and_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_bitwise_or(x, y) rg_bitwise_or_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_bitwise_xor(x, y) rg_bitwise_xor_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_shl(x, y) rg_shl_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_shr(x, y) rg_shr_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_copysign(x, y) rg_copysign_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_logaddexp(x, y) rg_logaddexp_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_where(cond, x, y) rg_where_at(RG_HERE, RG_OPERAND(cond, #cond), RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_clamp(x, lo, hi) rg_clamp_at(RG_HERE, RG_ARG(x, #x), RG_OPERAND(lo, #lo), RG_OPERAND(hi, #hi))
#define rg_lerp(a, b, w) rg_lerp_at(RG_HERE, RG_OPERAND(a, #a), RG_OPERAND(b, #b), RG_OPERAND(w, #w))
#define rg_sum(x, ...) rg_sum_at(RG_HERE, RG_ARG(x, #x), (rg_reduce_opts){.zero_ = 0, __VA_ARGS__})
#define rg_prod(x, ...) rg_prod_at(RG_HERE, RG_ARG(x, #x), (rg_reduce_opts){.zero_ = 0, __VA_ARGS__})
#define rg_max(x, ...) rg_max_at(RG_HERE, RG_ARG(x, #x), (rg_reduce_opts){.zero_ = 0, __VA_ARGS__})
#define rg_min(x, ...) rg_min_at(RG_HERE, RG_ARG(x, #x), (rg_reduce_opts){.zero_ = 0, __VA_ARGS__})
#define rg_mean(x, ...) rg_mean_at(RG_HERE, RG_ARG(x, #x), (rg_reduce_opts){.zero_ = 0, __VA_ARGS__})
#define rg_any(x, ...) rg_any_at(RG_HERE, RG_ARG(x, #x), (rg_reduce_opts){.zero_ = 0, __VA_ARGS__})
#define rg_all(x, ...) rg_all_at(RG_HERE, RG_ARG(x, #x), (rg_reduce_opts){.zero_ = 0, __VA_ARGS__})
#define rg_logsumexp(x, ...) rg_logsumexp_at(RG_HERE, RG_ARG(x, #x), (rg_reduce_opts){.zero_ = 0, __VA_ARGS__})
#define rg_var(x, ...) rg_var_at(RG_HERE, RG_ARG(x, #x), (rg_reduce_opts){.zero_ = 0, __VA_ARGS__})
#define rg_std(x, ...) rg_std_at(RG_HERE, RG_ARG(x, #x), (rg_reduce_opts){.zero_ = 0, __VA_ARGS__})
#define rg_argmax(x, ...) rg_argmax_at(RG_HERE, RG_ARG(x, #x), (rg_reduce_opts){.zero_ = 0, __VA_ARGS__})
#define rg_argmin(x, ...) rg_argmin_at(RG_HERE, RG_ARG(x, #x), (rg_reduce_opts){.zero_ = 0, __VA_ARGS__})
#define rg_cumsum(x, ...) rg_cumsum_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_cumprod(x, ...) rg_cumprod_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_cummax(x, ...) rg_cummax_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_softmax(x, ...) rg_softmax_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_log_softmax(x, ...) rg_log_softmax_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_layernorm(x, weight, bias, ...) rg_layernorm_at(RG_HERE, RG_ARG(x, #x), RG_ARG(weight, #weight), RG_ARG(bias, #bias), (rg_norm_opts){.zero_ = 0, __VA_ARGS__})
#define rg_rmsnorm(x, weight, ...) rg_rmsnorm_at(RG_HERE, RG_ARG(x, #x), RG_ARG(weight, #weight), (rg_norm_opts){.zero_ = 0, __VA_ARGS__})
#define rg_matmul(x, y) rg_matmul_at(RG_HERE, RG_ARG(x, #x), RG_ARG(y, #y))
#define rg_dot(x, y) rg_dot_at(RG_HERE, RG_ARG(x, #x), RG_ARG(y, #y))
#define rg_outer(x, y) rg_outer_at(RG_HERE, RG_ARG(x, #x), RG_ARG(y, #y))
#define rg_linear(x, weight, bias) rg_linear_at(RG_HERE, RG_ARG(x, #x), RG_ARG(weight, #weight), RG_ARG(bias, #bias))
#define rg_gather(x, axis, index) rg_gather_at(RG_HERE, RG_ARG(x, #x), axis, RG_ARG(index, #index))
#define rg_take(x, axis, index) rg_take_at(RG_HERE, RG_ARG(x, #x), axis, RG_ARG(index, #index))
#define rg_scatter_add(x, axis, index, src) rg_scatter_add_at(RG_HERE, RG_ARG(x, #x), axis, RG_ARG(index, #index), RG_ARG(src, #src))
#define rg_schedule_stats(...) rg_schedule_stats_at(RG_HERE, __VA_ARGS__)
#define rg_stats(...) rg_stats_at(RG_HERE, __VA_ARGS__)
#endif
/* clang-format on */
#endif
