/* math_coef.h: coefficients and constants of math.c and trig.c, lowest power first. Written by
 * tools/remez.py, which says how; the comment of each row is the greatest error of the polynomial,
 * in units of 2^-24 (f32) and 2^-53 (f64) of the value. */
#ifndef RIDGE_MATH_COEF_H
#define RIDGE_MATH_COEF_H

#include <stdint.h>

/* 2^r, |r| <= 1/2: 0.05 */
static const double exp2_f32[] = {
    0x1p0, 0x1.62e43p-1, 0x1.ebfbdcp-3, 0x1.c6af7cp-5, 0x1.3b2dep-7, 0x1.5f082ep-10, 0x1.416b5ep-13,
};
/* 2^r, |r| <= 1/2: 0.037 */
static const double exp2_f64[] = {
    0x1p0,
    0x1.62e42fefa39efp-1,
    0x1.ebfbdff82c59cp-3,
    0x1.c6b08d704a0d5p-5,
    0x1.3b2ab6fba11f4p-7,
    0x1.5d87fe78b38c4p-10,
    0x1.4309130c0164dp-13,
    0x1.ffcbfbf982686p-17,
    0x1.62bfcdddd466p-20,
    0x1.b5260c538d6ccp-24,
    0x1.e611a13f07e08p-28,
    0x1.e81097a8bb538p-32,
};
/* e^r - 1, |r| <= ln 2 / 2, from r^1: 0.23 */
static const double expm1_f32[] = {
    0x1p0, 0x1.fffffep-2, 0x1.5554b4p-3, 0x1.5556f8p-5, 0x1.12252ep-7, 0x1.6b95dp-10,
};
/* e^r - 1, |r| <= ln 2 / 2, from r^1: 0.17 */
static const double expm1_f64[] = {
    0x1p0,
    0x1.0000000000005p-1,
    0x1.555555555554fp-3,
    0x1.5555555552274p-5,
    0x1.1111111114d6fp-7,
    0x1.6c16c17ec622bp-10,
    0x1.a01a01871c5eap-13,
    0x1.a019a7d696d3dp-16,
    0x1.71de669b0111cp-19,
    0x1.28a16c01f8c76p-22,
    0x1.ae988f8416086p-26,
};
/* ln(1+f), sqrt(1/2) <= 1+f <= sqrt(2), from f^1: 0.098 */
static const double log_f32[] = {
    0x1p0,          -0x1p-1,       0x1.555554p-2,  -0x1.000226p-2, 0x1.99a01cp-3,
    -0x1.54728cp-3, 0x1.22d938p-3, -0x1.0d8238p-3, 0x1.055e4cp-3,  -0x1.38c894p-4,
};
/* ln(1+f), sqrt(1/2) <= 1+f <= sqrt(2), from f^1: 0.082 */
static const double log_f64[] = {
    0x1p0,
    -0x1p-1,
    0x1.5555555555533p-2,
    -0x1.fffffffffef19p-3,
    0x1.999999999f7a4p-3,
    -0x1.555555566aff8p-3,
    0x1.24924922a212bp-3,
    -0x1.ffffff2c13893p-4,
    0x1.c71c71e0da26cp-4,
    -0x1.9999c267a3469p-4,
    0x1.745d3f03da1a2p-4,
    -0x1.5550eeac798ddp-4,
    0x1.3b0b8afdd20ffp-4,
    -0x1.24d74daa6e058p-4,
    0x1.11cceaf5a316bp-4,
    -0x1.fba1a6a5d998fp-5,
    0x1.d05b60cecf875p-5,
    -0x1.d1214635c003bp-5,
    0x1.0a614ed0010cdp-4,
    -0x1.ea00215d2dceap-5,
    0x1.ac6e154c2a37fp-6,
};
/* log2(1+f)/f, the same interval; tail: 0.077 */
static const double log2_f32[] = {
    0x1.4ae0cp-26,  -0x1.71547p-1, 0x1.ec7094p-2,  -0x1.715afep-2, 0x1.277f44p-2,
    -0x1.eaa24ap-3, 0x1.a2c9dep-3, -0x1.87f7f4p-3, 0x1.7f2808p-3,  -0x1.c39b1ap-4,
};
/* log2(1+f)/f, the same interval; tail: 0.071 */
static const double log2_f64[] = {
    0x1.777d0ffda0d24p-56, -0x1.71547652b8303p-1, 0x1.ec709dc3a03aep-2, -0x1.71547652b699bp-2,
    0x1.2776c50eff27cp-2,  -0x1.ec709dc5f2371p-3, 0x1.a61762a4a7b51p-3, -0x1.7154758ee6129p-3,
    0x1.484b13d21ff01p-3,  -0x1.2776e7c46a3cdp-3, 0x1.0c9aa811a2b9ap-3, -0x1.ec6985655e5a4p-4,
    0x1.c6821ed3da236p-4,  -0x1.a68277f724be7p-4, 0x1.8b1703ec582ecp-4, -0x1.6e0ad8287f661p-4,
    0x1.4e6886ecb2f7ap-4,  -0x1.4f8a2f62c3f9dp-4, 0x1.81d700a7773e1p-4, -0x1.62e5de2790a0fp-4,
    0x1.35513d895bfb1p-5,
};
/* log10(1+f)/f, the same interval; tail: 0.074 */
static const double log10_f32[] = {
    -0x1.5b235ep-27, -0x1.bcb7aap-3, 0x1.287a7p-3,   -0x1.bcbf52p-4, 0x1.63d06cp-4,
    -0x1.276a4ep-4,  0x1.f84b0ap-5,  -0x1.d79194p-5, 0x1.cd1048p-5,  -0x1.1093e2p-5,
};
/* log10(1+f)/f, the same interval; tail: 0.072 */
static const double log10_f64[] = {
    0x1.95355baaafad3p-57, -0x1.bcb7b1526e514p-3, 0x1.287a7636f432fp-3, -0x1.bcb7b1526c6c6p-4,
    0x1.63c627752b902p-4,  -0x1.287a763857c14p-4, 0x1.fc3fa6116964ap-5, -0x1.bcb7b067885c1p-5,
    0x1.8b4df2ee4ae75p-5,  -0x1.63c65124e7bd6p-5, 0x1.436e7ced7b3dcp-5, -0x1.287632869dbccp-5,
    0x1.11a42dd23130bp-5,  -0x1.fcc07336f731bp-6, 0x1.dbbbdb78e22fdp-6, -0x1.b8c2d7ae36e3ap-6,
    0x1.92ae082d13a1dp-6,  -0x1.94088047d449cp-6, 0x1.d090fe7e13057p-6, -0x1.ab4d66778946fp-6,
    0x1.746f9f89dfb4ep-7,
};
/* sin(r)/r in r^2, |r| <= 1.004 pi/2: 0.43 */
static const double sin_f32[] = {
    0x1p0, -0x1.555554p-3, 0x1.110f4ap-7, -0x1.9f71eap-13, 0x1.5d3db4p-19,
};
/* sin(r)/r in r^2, |r| <= 1.004 pi/2: 0.0028 */
static const double sin_f64[] = {
    0x1p0,
    -0x1.5555555555555p-3,
    0x1.11111111110c7p-7,
    -0x1.a01a01a014bfcp-13,
    0x1.71de3a52942dfp-19,
    -0x1.ae6454cdd69cdp-26,
    0x1.6123cb3020fp-33,
    -0x1.ae43000baaa6ap-41,
    0x1.8823d6336223cp-49,
};
/* tan(r)/r in r^2, |r| <= 1.01 pi/4: 0.35 */
static const double tan_f32[] = {
    0x1p0, 0x1.5554ccp-2, 0x1.11319ap-3, 0x1.b509b6p-5, 0x1.93eb6cp-6, 0x1.699db2p-9, 0x1.3a985ap-7,
};
/* tan(r)/r in r^2, |r| <= 1.01 pi/4: 0.15 */
static const double tan_f64[] = {
    0x1p0,
    0x1.55555555554cbp-2,
    0x1.111111111ac1cp-3,
    0x1.ba1ba1b283bf3p-5,
    0x1.664f4a02ce8d4p-6,
    0x1.226e088175364p-7,
    0x1.d6da93a56177dp-9,
    0x1.7d4ad0e9ed0dep-10,
    0x1.38848558db945p-11,
    0x1.cc230adfda23bp-13,
    0x1.2b0ba966c8521p-13,
    -0x1.249b739bc78e1p-15,
    0x1.97b635729ee59p-14,
    -0x1.9b53cf18d37bcp-15,
    0x1.6eb0cd9695c2cp-16,
};
/* tanh(x)/x in x^2, |x| <= 0.4: 0.014 */
static const double tanh_f64[] = {
    0x1p0,
    -0x1.555555555553fp-2,
    0x1.111111110e51ap-3,
    -0x1.ba1ba1b661e2dp-5,
    0x1.664f47456a49fp-6,
    -0x1.226df9842ae9fp-7,
    0x1.d6c6220dcb8ap-9,
    -0x1.7cab346ebcd92p-10,
    0x1.2a9da119e05a8p-11,
    -0x1.6e29c020dc32ep-13,
};
/* -ln(1 - erf(x))/x, 0 <= x <= 3.95 (f32) or 5.95 (f64); tail: 0.071 */
static const double erf_f32[] = {
    -0x1.f7ac92p-25, 0x1.45f2fep-1,   0x1.a4f96p-4,   -0x1.39c124p-6,  -0x1.5a911ep-13,
    0x1.b61e38p-10,  -0x1.4cdb52p-11, 0x1.ef7ed2p-14, -0x1.382a3ep-17,
};
/* -ln(1 - erf(x))/x, 0 <= x <= 3.95 (f32) or 5.95 (f64); tail: 0.2 */
static const double erf_f64[] = {
    0x1.1ae3a914fed8p-56,   0x1.45f306dc9c8bcp-1,   0x1.a4f4e2a1abdbbp-4,   -0x1.39668591222fdp-6,
    -0x1.b6b69ef17edf8p-13, 0x1.bca68fa94b08cp-10,  -0x1.3566291af78e6p-11, 0x1.b293d7224227cp-16,
    0x1.0e36f9d56b064p-14,  -0x1.f04e12b83e9b7p-16, 0x1.aa9165a2bf117p-19,  0x1.a34f8a9b2cc35p-19,
    -0x1.1072831f9f0eap-19, 0x1.2fc8a59e24385p-21,  -0x1.3bff6771b5435p-27, -0x1.1ed59450d571p-24,
    0x1.2c13f0864ae03p-25,  -0x1.754d83e9a2829p-27, 0x1.46f7eb18cac0bp-29,  -0x1.a09f01666f74p-32,
    0x1.7d33823faca1dp-35,  -0x1.dcf8d80631e48p-39, 0x1.6e48a0c88027p-43,   -0x1.04b43d217c1c8p-48,
};
/* log2(erfc(x))/x, 0 <= x <= 4.4; falls on beyond: 0.55 */
static const double erfc_f32[] = {
    -0x1.a0beb6p0,  -0x1.d6375cp-1, -0x1.30626ap-3, 0x1.d4f138p-6,
    -0x1.49c22p-10, -0x1.2ebb9p-10, 0x1.59f284p-12, -0x1.f325e2p-16,
};
/* (atanh(s)/s - 1 - s^2/3)/s^4 in s^2, |s| <= 3 - sqrt(8): 1.2e-06 */
static const double atanh_f32[] = {
    0x1.999998p-3,
    0x1.2493b6p-3,
    0x1.c63da8p-4,
    0x1.9084p-4,
};
/* (atanh(s)/s - 1 - s^2/3)/s^4 in s^2, |s| <= 3 - sqrt(8): 6.1e-08 */
static const double atanh_f64[] = {
    0x1.999999999999ap-3, 0x1.2492492492363p-3, 0x1.c71c71c747eb4p-4,
    0x1.745d172bc6f41p-4, 0x1.3b13ba5b9c7bap-4, 0x1.110f1be5850aap-4,
    0x1.e2659a02e5b18p-5, 0x1.a5068d906cc16p-5, 0x1.ecb6fb61f7445p-5,
};

static const double pi_f32[] = {0x1.921fb6p1, -0x1.777a5cp-24, -0x1.ee59dap-49};
static const double half_pi_f32[] = {0x1.921fb6p0, -0x1.777a5cp-25, -0x1.ee59dap-50};
static const double two_pi_f32[] = {0x1.921fb6p2, -0x1.777a5cp-23};
static const double ln2_f32[] = {0x1.62e43p-1, -0x1.05c61p-29};
static const double log2e2_f32[] = {0x1.715476p1, 0x1.4ae0cp-25};
static const double log10_2_f32[] = {0x1.344136p-2, -0x1.ec10cp-27};
static const double third_f32[] = {0x1.555556p-2, -0x1.555556p-27};
static const double log2e_f32[] = {0x1.715476p0};
static const double log10e_f32[] = {0x1.bcb7b2p-2};
static const double erf0_f32[] = {0x1.20dd76p0};
static const double pi_f64[] = {0x1.921fb54442d18p1, 0x1.1a62633145c07p-53, -0x1.f1976b7ed8fbcp-109};
static const double half_pi_f64[] = {0x1.921fb54442d18p0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110};
static const double two_pi_f64[] = {0x1.921fb54442d18p2, 0x1.1a62633145c07p-52};
static const double ln2_f64[] = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
static const double log2e2_f64[] = {0x1.71547652b82fep1, 0x1.777d0ffda0d24p-55};
static const double log10_2_f64[] = {0x1.34413509f79ffp-2, -0x1.9dc1da994fd21p-59};
static const double third_f64[] = {0x1.5555555555555p-2, 0x1.5555555555555p-56};
static const double log2e_f64[] = {0x1.71547652b82fep0};
static const double log10e_f64[] = {0x1.bcb7b1526e50ep-2};
static const double erf0_f64[] = {0x1.20dd750429b6dp0};

/* 1/(2 pi) in binary: 8 zero bits, then the digits, in words of 32 */
static const uint32_t inv_2pi_f32[7] = {
    0x0028be60, 0xdb939105, 0x4a7f09d5, 0xf47d4d37, 0x7036d8a5, 0x664f10e4, 0x107f9458,
};
/* the same after 32 zero bits, in words of 64 */
static const uint64_t inv_2pi_f64[19] = {
    0x0000000028be60db, 0x9391054a7f09d5f4, 0x7d4d377036d8a566, 0x4f10e4107f9458ea, 0xf7aef1586dc91b8e,
    0x909374b801924bba, 0x827464873f877ac7, 0x2c4a69cfba208d7d, 0x4baed1213a671c09, 0xad17df904e64758e,
    0x60d4ce7d272117e2, 0xef7e4a0ec7fe25ff, 0xf7816603fbcbc462, 0xd6829b47db4d9fb3, 0xc9f2c26dd3d18fd9,
    0xa797fa8b5d49eeb1, 0xfaf97c5ecf41ce7d, 0xe294a4ba9afed7ec, 0x47e357421580cc11,
};

#endif
