/* networks_sample.h: written by tests/outside/networks.py --sample; do not edit. Networks and ten training
 * steps of each: PyTorch's loss, of each gradient two weighted sums and how far these may be off.
 * networks.c runs them; docs/testing.md */
/* clang-format off */
static rg_tensor gru(rg_ctx *c, const rg_tensor *w, const rg_tensor *x) {
    (void)c;
    rg_tensor t1 = rg_linear(x[0], w[0], w[1]);
    rg_tensor t2 = rg_zeros(c, RG_F32, RG_SHAPE(3, 8));
    rg_tensor t3 = rg_select(t1, 0, 0);
    rg_tensor t4 = rg_linear(t2, w[2], w[3]);
    rg_tensor t5 = rg_narrow(t3, -1, 0, 8);
    rg_tensor t6 = rg_narrow(t4, -1, 0, 8);
    rg_tensor t7 = rg_add(t5, t6);
    rg_tensor t8 = rg_sigmoid(t7);
    rg_tensor t9 = rg_narrow(t3, -1, 8, 8);
    rg_tensor t10 = rg_narrow(t4, -1, 8, 8);
    rg_tensor t11 = rg_add(t9, t10);
    rg_tensor t12 = rg_sigmoid(t11);
    rg_tensor t13 = rg_narrow(t3, -1, 16, 8);
    rg_tensor t14 = rg_narrow(t4, -1, 16, 8);
    rg_tensor t15 = rg_mul(t8, t14);
    rg_tensor t16 = rg_add(t13, t15);
    rg_tensor t17 = rg_tanh(t16);
    rg_tensor t18 = rg_sub(t2, t17);
    rg_tensor t19 = rg_mul(t12, t18);
    rg_tensor t20 = rg_add(t17, t19);
    rg_tensor t21 = rg_sub(t20, x[1]);
    rg_tensor t22 = rg_square(t21);
    rg_tensor t23 = rg_mean(t22);
    rg_tensor t24 = rg_select(t1, 0, 1);
    rg_tensor t25 = rg_linear(t20, w[2], w[3]);
    rg_tensor t26 = rg_narrow(t24, -1, 0, 8);
    rg_tensor t27 = rg_narrow(t25, -1, 0, 8);
    rg_tensor t28 = rg_add(t26, t27);
    rg_tensor t29 = rg_sigmoid(t28);
    rg_tensor t30 = rg_narrow(t24, -1, 8, 8);
    rg_tensor t31 = rg_narrow(t25, -1, 8, 8);
    rg_tensor t32 = rg_add(t30, t31);
    rg_tensor t33 = rg_sigmoid(t32);
    rg_tensor t34 = rg_narrow(t24, -1, 16, 8);
    rg_tensor t35 = rg_narrow(t25, -1, 16, 8);
    rg_tensor t36 = rg_mul(t29, t35);
    rg_tensor t37 = rg_add(t34, t36);
    rg_tensor t38 = rg_tanh(t37);
    rg_tensor t39 = rg_sub(t20, t38);
    rg_tensor t40 = rg_mul(t33, t39);
    rg_tensor t41 = rg_add(t38, t40);
    rg_tensor t42 = rg_sub(t41, x[1]);
    rg_tensor t43 = rg_square(t42);
    rg_tensor t44 = rg_mean(t43);
    rg_tensor t45 = rg_add(t23, t44);
    rg_tensor t46 = rg_select(t1, 0, 2);
    rg_tensor t47 = rg_linear(t41, w[2], w[3]);
    rg_tensor t48 = rg_narrow(t46, -1, 0, 8);
    rg_tensor t49 = rg_narrow(t47, -1, 0, 8);
    rg_tensor t50 = rg_add(t48, t49);
    rg_tensor t51 = rg_sigmoid(t50);
    rg_tensor t52 = rg_narrow(t46, -1, 8, 8);
    rg_tensor t53 = rg_narrow(t47, -1, 8, 8);
    rg_tensor t54 = rg_add(t52, t53);
    rg_tensor t55 = rg_sigmoid(t54);
    rg_tensor t56 = rg_narrow(t46, -1, 16, 8);
    rg_tensor t57 = rg_narrow(t47, -1, 16, 8);
    rg_tensor t58 = rg_mul(t51, t57);
    rg_tensor t59 = rg_add(t56, t58);
    rg_tensor t60 = rg_tanh(t59);
    rg_tensor t61 = rg_sub(t41, t60);
    rg_tensor t62 = rg_mul(t55, t61);
    rg_tensor t63 = rg_add(t60, t62);
    rg_tensor t64 = rg_sub(t63, x[1]);
    rg_tensor t65 = rg_square(t64);
    rg_tensor t66 = rg_mean(t65);
    rg_tensor t67 = rg_add(t45, t66);
    rg_tensor t68 = rg_select(t1, 0, 3);
    rg_tensor t69 = rg_linear(t63, w[2], w[3]);
    rg_tensor t70 = rg_narrow(t68, -1, 0, 8);
    rg_tensor t71 = rg_narrow(t69, -1, 0, 8);
    rg_tensor t72 = rg_add(t70, t71);
    rg_tensor t73 = rg_sigmoid(t72);
    rg_tensor t74 = rg_narrow(t68, -1, 8, 8);
    rg_tensor t75 = rg_narrow(t69, -1, 8, 8);
    rg_tensor t76 = rg_add(t74, t75);
    rg_tensor t77 = rg_sigmoid(t76);
    rg_tensor t78 = rg_narrow(t68, -1, 16, 8);
    rg_tensor t79 = rg_narrow(t69, -1, 16, 8);
    rg_tensor t80 = rg_mul(t73, t79);
    rg_tensor t81 = rg_add(t78, t80);
    rg_tensor t82 = rg_tanh(t81);
    rg_tensor t83 = rg_sub(t63, t82);
    rg_tensor t84 = rg_mul(t77, t83);
    rg_tensor t85 = rg_add(t82, t84);
    rg_tensor t86 = rg_sub(t85, x[1]);
    rg_tensor t87 = rg_square(t86);
    rg_tensor t88 = rg_mean(t87);
    rg_tensor t89 = rg_add(t67, t88);
    rg_tensor t90 = rg_select(t1, 0, 4);
    rg_tensor t91 = rg_linear(t85, w[2], w[3]);
    rg_tensor t92 = rg_narrow(t90, -1, 0, 8);
    rg_tensor t93 = rg_narrow(t91, -1, 0, 8);
    rg_tensor t94 = rg_add(t92, t93);
    rg_tensor t95 = rg_sigmoid(t94);
    rg_tensor t96 = rg_narrow(t90, -1, 8, 8);
    rg_tensor t97 = rg_narrow(t91, -1, 8, 8);
    rg_tensor t98 = rg_add(t96, t97);
    rg_tensor t99 = rg_sigmoid(t98);
    rg_tensor t100 = rg_narrow(t90, -1, 16, 8);
    rg_tensor t101 = rg_narrow(t91, -1, 16, 8);
    rg_tensor t102 = rg_mul(t95, t101);
    rg_tensor t103 = rg_add(t100, t102);
    rg_tensor t104 = rg_tanh(t103);
    rg_tensor t105 = rg_sub(t85, t104);
    rg_tensor t106 = rg_mul(t99, t105);
    rg_tensor t107 = rg_add(t104, t106);
    rg_tensor t108 = rg_sub(t107, x[1]);
    rg_tensor t109 = rg_square(t108);
    rg_tensor t110 = rg_mean(t109);
    rg_tensor t111 = rg_add(t89, t110);
    rg_tensor t112 = rg_select(t1, 0, 5);
    rg_tensor t113 = rg_linear(t107, w[2], w[3]);
    rg_tensor t114 = rg_narrow(t112, -1, 0, 8);
    rg_tensor t115 = rg_narrow(t113, -1, 0, 8);
    rg_tensor t116 = rg_add(t114, t115);
    rg_tensor t117 = rg_sigmoid(t116);
    rg_tensor t118 = rg_narrow(t112, -1, 8, 8);
    rg_tensor t119 = rg_narrow(t113, -1, 8, 8);
    rg_tensor t120 = rg_add(t118, t119);
    rg_tensor t121 = rg_sigmoid(t120);
    rg_tensor t122 = rg_narrow(t112, -1, 16, 8);
    rg_tensor t123 = rg_narrow(t113, -1, 16, 8);
    rg_tensor t124 = rg_mul(t117, t123);
    rg_tensor t125 = rg_add(t122, t124);
    rg_tensor t126 = rg_tanh(t125);
    rg_tensor t127 = rg_sub(t107, t126);
    rg_tensor t128 = rg_mul(t121, t127);
    rg_tensor t129 = rg_add(t126, t128);
    rg_tensor t130 = rg_sub(t129, x[1]);
    rg_tensor t131 = rg_square(t130);
    rg_tensor t132 = rg_mean(t131);
    rg_tensor t133 = rg_add(t111, t132);
    rg_tensor t134 = rg_select(t1, 0, 6);
    rg_tensor t135 = rg_linear(t129, w[2], w[3]);
    rg_tensor t136 = rg_narrow(t134, -1, 0, 8);
    rg_tensor t137 = rg_narrow(t135, -1, 0, 8);
    rg_tensor t138 = rg_add(t136, t137);
    rg_tensor t139 = rg_sigmoid(t138);
    rg_tensor t140 = rg_narrow(t134, -1, 8, 8);
    rg_tensor t141 = rg_narrow(t135, -1, 8, 8);
    rg_tensor t142 = rg_add(t140, t141);
    rg_tensor t143 = rg_sigmoid(t142);
    rg_tensor t144 = rg_narrow(t134, -1, 16, 8);
    rg_tensor t145 = rg_narrow(t135, -1, 16, 8);
    rg_tensor t146 = rg_mul(t139, t145);
    rg_tensor t147 = rg_add(t144, t146);
    rg_tensor t148 = rg_tanh(t147);
    rg_tensor t149 = rg_sub(t129, t148);
    rg_tensor t150 = rg_mul(t143, t149);
    rg_tensor t151 = rg_add(t148, t150);
    rg_tensor t152 = rg_sub(t151, x[1]);
    rg_tensor t153 = rg_square(t152);
    rg_tensor t154 = rg_mean(t153);
    rg_tensor t155 = rg_add(t133, t154);
    rg_tensor t156 = rg_select(t1, 0, 7);
    rg_tensor t157 = rg_linear(t151, w[2], w[3]);
    rg_tensor t158 = rg_narrow(t156, -1, 0, 8);
    rg_tensor t159 = rg_narrow(t157, -1, 0, 8);
    rg_tensor t160 = rg_add(t158, t159);
    rg_tensor t161 = rg_sigmoid(t160);
    rg_tensor t162 = rg_narrow(t156, -1, 8, 8);
    rg_tensor t163 = rg_narrow(t157, -1, 8, 8);
    rg_tensor t164 = rg_add(t162, t163);
    rg_tensor t165 = rg_sigmoid(t164);
    rg_tensor t166 = rg_narrow(t156, -1, 16, 8);
    rg_tensor t167 = rg_narrow(t157, -1, 16, 8);
    rg_tensor t168 = rg_mul(t161, t167);
    rg_tensor t169 = rg_add(t166, t168);
    rg_tensor t170 = rg_tanh(t169);
    rg_tensor t171 = rg_sub(t151, t170);
    rg_tensor t172 = rg_mul(t165, t171);
    rg_tensor t173 = rg_add(t170, t172);
    rg_tensor t174 = rg_sub(t173, x[1]);
    rg_tensor t175 = rg_square(t174);
    rg_tensor t176 = rg_mean(t175);
    rg_tensor t177 = rg_add(t155, t176);
    rg_tensor t178 = rg_select(t1, 0, 8);
    rg_tensor t179 = rg_linear(t173, w[2], w[3]);
    rg_tensor t180 = rg_narrow(t178, -1, 0, 8);
    rg_tensor t181 = rg_narrow(t179, -1, 0, 8);
    rg_tensor t182 = rg_add(t180, t181);
    rg_tensor t183 = rg_sigmoid(t182);
    rg_tensor t184 = rg_narrow(t178, -1, 8, 8);
    rg_tensor t185 = rg_narrow(t179, -1, 8, 8);
    rg_tensor t186 = rg_add(t184, t185);
    rg_tensor t187 = rg_sigmoid(t186);
    rg_tensor t188 = rg_narrow(t178, -1, 16, 8);
    rg_tensor t189 = rg_narrow(t179, -1, 16, 8);
    rg_tensor t190 = rg_mul(t183, t189);
    rg_tensor t191 = rg_add(t188, t190);
    rg_tensor t192 = rg_tanh(t191);
    rg_tensor t193 = rg_sub(t173, t192);
    rg_tensor t194 = rg_mul(t187, t193);
    rg_tensor t195 = rg_add(t192, t194);
    rg_tensor t196 = rg_sub(t195, x[1]);
    rg_tensor t197 = rg_square(t196);
    rg_tensor t198 = rg_mean(t197);
    rg_tensor t199 = rg_add(t177, t198);
    rg_tensor t200 = rg_mul(t199, 0.1111111111111111);
    return t200;
}
static const struct made gru_params[] = {{{24, 5}, 2, .scale = 0.44721359549995793}, {{24}, 1, .scale = 1}, {{24, 8},
    2, .scale = 0.35355339059327379}, {{24}, 1, .scale = 1}};
static const struct made gru_inputs[] = {{{9, 3, 5}, 3, .scale = 1}, {{3, 8}, 2, .scale = 1}};
static const double gru_want[] = {1.45340431, 0.07333004915, -0.120748316, 8.21721431e-05, -0.03215882554,
    0.08868000803, 8.392628593e-05, 0.213126579, -0.003431710044, 9.28317823e-05, 0.01875535455, 0.07098065982,
    4.43276687e-05, 1.053185709, -0.2391943292, -0.1023339065, 0.0001156259631, -0.05159160736, 0.07042532944,
    2.583768564e-05, -0.05594642939, 0.04805847085, 4.279915712e-05, -0.02073197312, 0.04360524061, 2.114191165e-05,
    0.8509839731, 0.05986311615, -0.06911292617, 6.533579922e-05, -0.08430775864, 0.06032352962, 4.179512557e-05,
    -0.1154371908, 0.01864363457, 7.774612131e-05, -0.08256514448, 0.03009037518, 3.850775895e-05, 1.196055116,
    0.06177865595, -0.297968803, 0.0001067998758, 0.06186238034, 0.1806772576, 6.833974152e-05, 0.215536413,
    -0.08674048006, 0.0001129297805, 0.04584436371, 0.1756724993, 6.021103728e-05, 1.548917743, -0.2832287629,
    -0.2359562572, 9.695340732e-05, 0.005382970888, 0.2936547968, 8.441955926e-05, -0.0551363652, 0.06606276466,
    0.0001225326158, 0.0216593764, 0.1798133051, 6.113999123e-05, 1.425734603, 0.02097260955, 0.242018155,
    0.0001692449302, -0.4217386144, -0.1241539087, 9.31904509e-05, 0.05135655754, -0.02656302313, 8.537191767e-05,
    -0.2406873222, -0.1001755676, 4.801799972e-05, 1.335208566, 0.2348507597, -0.02287690775, 0.0001075224311,
    -0.1963780341, -0.1573830726, 6.586426634e-05, -0.1945248233, 0.07177284063, 0.0001188363987, -0.1559340363,
    -0.1023147475, 6.084975678e-05, 1.244412959, -0.0572663883, 0.04909518361, 8.62274157e-05, -0.1425639888,
    -0.05579376889, 3.204311541e-05, -0.27080103, 0.01798090537, 6.963357577e-05, -0.09433582361, -0.08418182437,
    3.114489403e-05, 1.250469357, -0.2208795882, -0.4620027832, 0.0001252014962, -0.05843622257, 0.1567705514,
    6.474780004e-05, 0.1271246892, 0.0567094545, 0.0001168718803, -0.0445791071, 0.1060783008, 5.452754631e-05,
    1.700555552, -0.3123602792, -0.03197101731, 0.0001246118183, -0.1165588055, 0.09610739638, 6.366404106e-05,
    0.06871339761, 0.02890080941, 6.113256195e-05, 0.02636206981, 0.08022729367, 4.094132197e-05};
static rg_tensor lstm(rg_ctx *c, const rg_tensor *w, const rg_tensor *x) {
    (void)c;
    rg_tensor t1 = rg_linear(x[0], w[0], w[1]);
    rg_tensor t2 = rg_zeros(c, RG_F32, RG_SHAPE(3, 8));
    rg_tensor t3 = rg_select(t1, 0, 0);
    rg_tensor t4 = rg_linear(t2, w[2], w[3]);
    rg_tensor t5 = rg_narrow(t3, -1, 8, 8);
    rg_tensor t6 = rg_narrow(t4, -1, 8, 8);
    rg_tensor t7 = rg_add(t5, t6);
    rg_tensor t8 = rg_sigmoid(t7);
    rg_tensor t9 = rg_mul(t8, t2);
    rg_tensor t10 = rg_narrow(t3, -1, 0, 8);
    rg_tensor t11 = rg_narrow(t4, -1, 0, 8);
    rg_tensor t12 = rg_add(t10, t11);
    rg_tensor t13 = rg_sigmoid(t12);
    rg_tensor t14 = rg_narrow(t3, -1, 16, 8);
    rg_tensor t15 = rg_narrow(t4, -1, 16, 8);
    rg_tensor t16 = rg_add(t14, t15);
    rg_tensor t17 = rg_tanh(t16);
    rg_tensor t18 = rg_mul(t13, t17);
    rg_tensor t19 = rg_add(t9, t18);
    rg_tensor t20 = rg_narrow(t3, -1, 24, 8);
    rg_tensor t21 = rg_narrow(t4, -1, 24, 8);
    rg_tensor t22 = rg_add(t20, t21);
    rg_tensor t23 = rg_sigmoid(t22);
    rg_tensor t24 = rg_tanh(t19);
    rg_tensor t25 = rg_mul(t23, t24);
    rg_tensor t26 = rg_sub(t25, x[1]);
    rg_tensor t27 = rg_square(t26);
    rg_tensor t28 = rg_mean(t27);
    rg_tensor t29 = rg_select(t1, 0, 1);
    rg_tensor t30 = rg_linear(t25, w[2], w[3]);
    rg_tensor t31 = rg_narrow(t29, -1, 8, 8);
    rg_tensor t32 = rg_narrow(t30, -1, 8, 8);
    rg_tensor t33 = rg_add(t31, t32);
    rg_tensor t34 = rg_sigmoid(t33);
    rg_tensor t35 = rg_mul(t34, t19);
    rg_tensor t36 = rg_narrow(t29, -1, 0, 8);
    rg_tensor t37 = rg_narrow(t30, -1, 0, 8);
    rg_tensor t38 = rg_add(t36, t37);
    rg_tensor t39 = rg_sigmoid(t38);
    rg_tensor t40 = rg_narrow(t29, -1, 16, 8);
    rg_tensor t41 = rg_narrow(t30, -1, 16, 8);
    rg_tensor t42 = rg_add(t40, t41);
    rg_tensor t43 = rg_tanh(t42);
    rg_tensor t44 = rg_mul(t39, t43);
    rg_tensor t45 = rg_add(t35, t44);
    rg_tensor t46 = rg_narrow(t29, -1, 24, 8);
    rg_tensor t47 = rg_narrow(t30, -1, 24, 8);
    rg_tensor t48 = rg_add(t46, t47);
    rg_tensor t49 = rg_sigmoid(t48);
    rg_tensor t50 = rg_tanh(t45);
    rg_tensor t51 = rg_mul(t49, t50);
    rg_tensor t52 = rg_sub(t51, x[1]);
    rg_tensor t53 = rg_square(t52);
    rg_tensor t54 = rg_mean(t53);
    rg_tensor t55 = rg_add(t28, t54);
    rg_tensor t56 = rg_select(t1, 0, 2);
    rg_tensor t57 = rg_linear(t51, w[2], w[3]);
    rg_tensor t58 = rg_narrow(t56, -1, 8, 8);
    rg_tensor t59 = rg_narrow(t57, -1, 8, 8);
    rg_tensor t60 = rg_add(t58, t59);
    rg_tensor t61 = rg_sigmoid(t60);
    rg_tensor t62 = rg_mul(t61, t45);
    rg_tensor t63 = rg_narrow(t56, -1, 0, 8);
    rg_tensor t64 = rg_narrow(t57, -1, 0, 8);
    rg_tensor t65 = rg_add(t63, t64);
    rg_tensor t66 = rg_sigmoid(t65);
    rg_tensor t67 = rg_narrow(t56, -1, 16, 8);
    rg_tensor t68 = rg_narrow(t57, -1, 16, 8);
    rg_tensor t69 = rg_add(t67, t68);
    rg_tensor t70 = rg_tanh(t69);
    rg_tensor t71 = rg_mul(t66, t70);
    rg_tensor t72 = rg_add(t62, t71);
    rg_tensor t73 = rg_narrow(t56, -1, 24, 8);
    rg_tensor t74 = rg_narrow(t57, -1, 24, 8);
    rg_tensor t75 = rg_add(t73, t74);
    rg_tensor t76 = rg_sigmoid(t75);
    rg_tensor t77 = rg_tanh(t72);
    rg_tensor t78 = rg_mul(t76, t77);
    rg_tensor t79 = rg_sub(t78, x[1]);
    rg_tensor t80 = rg_square(t79);
    rg_tensor t81 = rg_mean(t80);
    rg_tensor t82 = rg_add(t55, t81);
    rg_tensor t83 = rg_select(t1, 0, 3);
    rg_tensor t84 = rg_linear(t78, w[2], w[3]);
    rg_tensor t85 = rg_narrow(t83, -1, 8, 8);
    rg_tensor t86 = rg_narrow(t84, -1, 8, 8);
    rg_tensor t87 = rg_add(t85, t86);
    rg_tensor t88 = rg_sigmoid(t87);
    rg_tensor t89 = rg_mul(t88, t72);
    rg_tensor t90 = rg_narrow(t83, -1, 0, 8);
    rg_tensor t91 = rg_narrow(t84, -1, 0, 8);
    rg_tensor t92 = rg_add(t90, t91);
    rg_tensor t93 = rg_sigmoid(t92);
    rg_tensor t94 = rg_narrow(t83, -1, 16, 8);
    rg_tensor t95 = rg_narrow(t84, -1, 16, 8);
    rg_tensor t96 = rg_add(t94, t95);
    rg_tensor t97 = rg_tanh(t96);
    rg_tensor t98 = rg_mul(t93, t97);
    rg_tensor t99 = rg_add(t89, t98);
    rg_tensor t100 = rg_narrow(t83, -1, 24, 8);
    rg_tensor t101 = rg_narrow(t84, -1, 24, 8);
    rg_tensor t102 = rg_add(t100, t101);
    rg_tensor t103 = rg_sigmoid(t102);
    rg_tensor t104 = rg_tanh(t99);
    rg_tensor t105 = rg_mul(t103, t104);
    rg_tensor t106 = rg_sub(t105, x[1]);
    rg_tensor t107 = rg_square(t106);
    rg_tensor t108 = rg_mean(t107);
    rg_tensor t109 = rg_add(t82, t108);
    rg_tensor t110 = rg_select(t1, 0, 4);
    rg_tensor t111 = rg_linear(t105, w[2], w[3]);
    rg_tensor t112 = rg_narrow(t110, -1, 8, 8);
    rg_tensor t113 = rg_narrow(t111, -1, 8, 8);
    rg_tensor t114 = rg_add(t112, t113);
    rg_tensor t115 = rg_sigmoid(t114);
    rg_tensor t116 = rg_mul(t115, t99);
    rg_tensor t117 = rg_narrow(t110, -1, 0, 8);
    rg_tensor t118 = rg_narrow(t111, -1, 0, 8);
    rg_tensor t119 = rg_add(t117, t118);
    rg_tensor t120 = rg_sigmoid(t119);
    rg_tensor t121 = rg_narrow(t110, -1, 16, 8);
    rg_tensor t122 = rg_narrow(t111, -1, 16, 8);
    rg_tensor t123 = rg_add(t121, t122);
    rg_tensor t124 = rg_tanh(t123);
    rg_tensor t125 = rg_mul(t120, t124);
    rg_tensor t126 = rg_add(t116, t125);
    rg_tensor t127 = rg_narrow(t110, -1, 24, 8);
    rg_tensor t128 = rg_narrow(t111, -1, 24, 8);
    rg_tensor t129 = rg_add(t127, t128);
    rg_tensor t130 = rg_sigmoid(t129);
    rg_tensor t131 = rg_tanh(t126);
    rg_tensor t132 = rg_mul(t130, t131);
    rg_tensor t133 = rg_sub(t132, x[1]);
    rg_tensor t134 = rg_square(t133);
    rg_tensor t135 = rg_mean(t134);
    rg_tensor t136 = rg_add(t109, t135);
    rg_tensor t137 = rg_select(t1, 0, 5);
    rg_tensor t138 = rg_linear(t132, w[2], w[3]);
    rg_tensor t139 = rg_narrow(t137, -1, 8, 8);
    rg_tensor t140 = rg_narrow(t138, -1, 8, 8);
    rg_tensor t141 = rg_add(t139, t140);
    rg_tensor t142 = rg_sigmoid(t141);
    rg_tensor t143 = rg_mul(t142, t126);
    rg_tensor t144 = rg_narrow(t137, -1, 0, 8);
    rg_tensor t145 = rg_narrow(t138, -1, 0, 8);
    rg_tensor t146 = rg_add(t144, t145);
    rg_tensor t147 = rg_sigmoid(t146);
    rg_tensor t148 = rg_narrow(t137, -1, 16, 8);
    rg_tensor t149 = rg_narrow(t138, -1, 16, 8);
    rg_tensor t150 = rg_add(t148, t149);
    rg_tensor t151 = rg_tanh(t150);
    rg_tensor t152 = rg_mul(t147, t151);
    rg_tensor t153 = rg_add(t143, t152);
    rg_tensor t154 = rg_narrow(t137, -1, 24, 8);
    rg_tensor t155 = rg_narrow(t138, -1, 24, 8);
    rg_tensor t156 = rg_add(t154, t155);
    rg_tensor t157 = rg_sigmoid(t156);
    rg_tensor t158 = rg_tanh(t153);
    rg_tensor t159 = rg_mul(t157, t158);
    rg_tensor t160 = rg_sub(t159, x[1]);
    rg_tensor t161 = rg_square(t160);
    rg_tensor t162 = rg_mean(t161);
    rg_tensor t163 = rg_add(t136, t162);
    rg_tensor t164 = rg_select(t1, 0, 6);
    rg_tensor t165 = rg_linear(t159, w[2], w[3]);
    rg_tensor t166 = rg_narrow(t164, -1, 8, 8);
    rg_tensor t167 = rg_narrow(t165, -1, 8, 8);
    rg_tensor t168 = rg_add(t166, t167);
    rg_tensor t169 = rg_sigmoid(t168);
    rg_tensor t170 = rg_mul(t169, t153);
    rg_tensor t171 = rg_narrow(t164, -1, 0, 8);
    rg_tensor t172 = rg_narrow(t165, -1, 0, 8);
    rg_tensor t173 = rg_add(t171, t172);
    rg_tensor t174 = rg_sigmoid(t173);
    rg_tensor t175 = rg_narrow(t164, -1, 16, 8);
    rg_tensor t176 = rg_narrow(t165, -1, 16, 8);
    rg_tensor t177 = rg_add(t175, t176);
    rg_tensor t178 = rg_tanh(t177);
    rg_tensor t179 = rg_mul(t174, t178);
    rg_tensor t180 = rg_add(t170, t179);
    rg_tensor t181 = rg_narrow(t164, -1, 24, 8);
    rg_tensor t182 = rg_narrow(t165, -1, 24, 8);
    rg_tensor t183 = rg_add(t181, t182);
    rg_tensor t184 = rg_sigmoid(t183);
    rg_tensor t185 = rg_tanh(t180);
    rg_tensor t186 = rg_mul(t184, t185);
    rg_tensor t187 = rg_sub(t186, x[1]);
    rg_tensor t188 = rg_square(t187);
    rg_tensor t189 = rg_mean(t188);
    rg_tensor t190 = rg_add(t163, t189);
    rg_tensor t191 = rg_select(t1, 0, 7);
    rg_tensor t192 = rg_linear(t186, w[2], w[3]);
    rg_tensor t193 = rg_narrow(t191, -1, 8, 8);
    rg_tensor t194 = rg_narrow(t192, -1, 8, 8);
    rg_tensor t195 = rg_add(t193, t194);
    rg_tensor t196 = rg_sigmoid(t195);
    rg_tensor t197 = rg_mul(t196, t180);
    rg_tensor t198 = rg_narrow(t191, -1, 0, 8);
    rg_tensor t199 = rg_narrow(t192, -1, 0, 8);
    rg_tensor t200 = rg_add(t198, t199);
    rg_tensor t201 = rg_sigmoid(t200);
    rg_tensor t202 = rg_narrow(t191, -1, 16, 8);
    rg_tensor t203 = rg_narrow(t192, -1, 16, 8);
    rg_tensor t204 = rg_add(t202, t203);
    rg_tensor t205 = rg_tanh(t204);
    rg_tensor t206 = rg_mul(t201, t205);
    rg_tensor t207 = rg_add(t197, t206);
    rg_tensor t208 = rg_narrow(t191, -1, 24, 8);
    rg_tensor t209 = rg_narrow(t192, -1, 24, 8);
    rg_tensor t210 = rg_add(t208, t209);
    rg_tensor t211 = rg_sigmoid(t210);
    rg_tensor t212 = rg_tanh(t207);
    rg_tensor t213 = rg_mul(t211, t212);
    rg_tensor t214 = rg_sub(t213, x[1]);
    rg_tensor t215 = rg_square(t214);
    rg_tensor t216 = rg_mean(t215);
    rg_tensor t217 = rg_add(t190, t216);
    rg_tensor t218 = rg_select(t1, 0, 8);
    rg_tensor t219 = rg_linear(t213, w[2], w[3]);
    rg_tensor t220 = rg_narrow(t218, -1, 8, 8);
    rg_tensor t221 = rg_narrow(t219, -1, 8, 8);
    rg_tensor t222 = rg_add(t220, t221);
    rg_tensor t223 = rg_sigmoid(t222);
    rg_tensor t224 = rg_mul(t223, t207);
    rg_tensor t225 = rg_narrow(t218, -1, 0, 8);
    rg_tensor t226 = rg_narrow(t219, -1, 0, 8);
    rg_tensor t227 = rg_add(t225, t226);
    rg_tensor t228 = rg_sigmoid(t227);
    rg_tensor t229 = rg_narrow(t218, -1, 16, 8);
    rg_tensor t230 = rg_narrow(t219, -1, 16, 8);
    rg_tensor t231 = rg_add(t229, t230);
    rg_tensor t232 = rg_tanh(t231);
    rg_tensor t233 = rg_mul(t228, t232);
    rg_tensor t234 = rg_add(t224, t233);
    rg_tensor t235 = rg_narrow(t218, -1, 24, 8);
    rg_tensor t236 = rg_narrow(t219, -1, 24, 8);
    rg_tensor t237 = rg_add(t235, t236);
    rg_tensor t238 = rg_sigmoid(t237);
    rg_tensor t239 = rg_tanh(t234);
    rg_tensor t240 = rg_mul(t238, t239);
    rg_tensor t241 = rg_sub(t240, x[1]);
    rg_tensor t242 = rg_square(t241);
    rg_tensor t243 = rg_mean(t242);
    rg_tensor t244 = rg_add(t217, t243);
    rg_tensor t245 = rg_mul(t244, 0.1111111111111111);
    return t245;
}
static const struct made lstm_params[] = {{{32, 5}, 2, .scale = 0.44721359549995793}, {{32}, 1, .scale = 1}, {{32, 8},
    2, .scale = 0.35355339059327379}, {{32}, 1, .scale = 1}};
static const struct made lstm_inputs[] = {{{9, 3, 5}, 3, .scale = 1}, {{3, 8}, 2, .scale = 1}};
static const double lstm_want[] = {0.8323338118, -0.04865351501, -0.1534062826, 3.385414938e-05, -0.0598202763,
    0.01318058627, 3.962043964e-05, 0.03003898136, -0.008475929187, 7.105225892e-05, -0.0598202763, 0.01318058627,
    3.962043964e-05, 0.4652747289, 0.04727497093, -0.08551855631, 4.371771836e-05, 0.01834277829, -0.03802850281,
    3.127697101e-05, 0.01711154378, -0.03147119657, 3.884825886e-05, 0.01834277829, -0.03802850281, 3.127697101e-05,
    1.34122845, -0.07498400902, -0.0008040283789, 9.863683898e-05, 0.0622412511, 0.007492125903, 2.784242417e-05,
    0.07388548928, -0.01335525146, 4.923681468e-05, 0.0622412511, 0.007492125903, 2.784242417e-05, 1.664116842,
    0.003429633412, -0.03002650468, 4.608112168e-05, -0.06028192715, 0.01080634227, 7.373671517e-05, -0.0439048106,
    0.00909506525, 0.0001056972315, -0.06028192715, 0.01080634227, 7.373671517e-05, 1.039490506, -0.055819616,
    0.0494111831, 3.620963664e-05, -0.05793975292, -0.02518687237, 2.005985951e-05, -0.001217273775, -0.002735635353,
    3.064716252e-05, -0.05793975292, -0.02518687237, 2.005985951e-05, 0.8694161454, 0.01187902926, -0.02304552059,
    4.473007041e-05, 0.0270444118, 0.0685451916, 2.852437737e-05, 0.02380978509, -0.01269808708, 3.69134644e-05,
    0.0270444118, 0.0685451916, 2.852437737e-05, 0.9767981123, -0.01649161605, 0.02573953365, 5.14883553e-05,
    0.06502483977, -0.06747925744, 1.858571718e-05, -0.07848882105, 0.04601128853, 2.697032591e-05, 0.06502483977,
    -0.06747925744, 1.858571718e-05, 1.052330311, 0.06237840258, -0.01319387757, 0.000109999008, -0.1386773102,
    -0.09273181276, 5.897958531e-05, 0.01406695363, -0.01078295625, 0.0001157383456, -0.1386773102, -0.09273181276,
    5.897958531e-05, 1.134407897, 0.07549715112, -0.02188380259, 5.609651952e-05, 0.06144526158, 0.03882543961,
    2.519575118e-05, -0.01492313729, -0.00686539763, 3.930919305e-05, 0.06144526158, 0.03882543961, 2.519575118e-05,
    0.9307041797, 0.1158670717, 0.01109607515, 5.277732237e-05, -0.01860646701, -0.0009768907763, 1.624074769e-05,
    -0.007833806505, 0.02183444764, 3.529206409e-05, -0.01860646701, -0.0009768907763, 1.624074769e-05};
static rg_tensor unet(rg_ctx *c, const rg_tensor *w, const rg_tensor *x) {
    (void)c;
    rg_tensor t1 = rg_conv2d(x[0], w[0], .padding = RG_SHAPE(1));
    rg_tensor t2 = rg_groupnorm(t1, 2, w[1], w[2]);
    rg_tensor t3 = rg_silu(t2);
    rg_tensor t4 = rg_max_pool2d(t3, .size = RG_SHAPE(2));
    rg_tensor t5 = rg_conv2d(t4, w[3], .padding = RG_SHAPE(1));
    rg_tensor t6 = rg_groupnorm(t5, 2, w[4], w[5]);
    rg_tensor t7 = rg_silu(t6);
    rg_tensor t8 = rg_conv2d(t7, w[6], .padding = RG_SHAPE(1));
    rg_tensor t9 = rg_groupnorm(t8, 2, w[7], w[8]);
    rg_tensor t10 = rg_silu(t9);
    rg_tensor t11 = rg_add(t7, t10);
    rg_tensor t12 = rg_interpolate(t11, RG_SHAPE(8, 8), .mode = RG_RESIZE_NEAREST);
    rg_tensor t13 = rg_cat(RG_TENSORS(t3, t12), 1);
    rg_tensor t14 = rg_conv2d(t13, w[9], .padding = RG_SHAPE(1));
    rg_tensor t15 = rg_groupnorm(t14, 2, w[10], w[11]);
    rg_tensor t16 = rg_silu(t15);
    rg_tensor t17 = rg_conv2d(t16, w[12], .padding = RG_SHAPE(1));
    rg_tensor t18 = rg_mse_loss(t17, x[1], .reduction = RG_MEAN);
    return t18;
}
static const struct made unet_params[] = {{{4, 3, 3, 3}, 4, .scale = 0.19245008972987526}, {{4}, 1, .fill = 1}, {{4},
    1, .fill = 0}, {{8, 4, 3, 3}, 4, .scale = 0.16666666666666666}, {{8}, 1, .fill = 1}, {{8}, 1, .fill = 0}, {{8, 8,
    3, 3}, 4, .scale = 0.11785113019775792}, {{8}, 1, .fill = 1}, {{8}, 1, .fill = 0}, {{4, 12, 3, 3}, 4, .scale =
    0.096225044864937631}, {{4}, 1, .fill = 1}, {{4}, 1, .fill = 0}, {{3, 4, 3, 3}, 4, .scale = 0.16666666666666666}};
static const struct made unet_inputs[] = {{{2, 3, 8, 8}, 4, .scale = 1}, {{2, 3, 8, 8}, 4, .scale = 1}};
static const double unet_want[] = {1.116105282, -0.2028923621, -0.1671245442, 0.0001127304925, -0.03533412399,
    0.02488867905, 2.107901866e-05, 0.004724686297, 0.01544257415, 1.279719289e-05, 0.2568186312, -0.0382444968,
    0.0001431814532, -0.1009012056, 0.009366949796, 1.439011202e-05, -0.07096793876, 0.004153401592, 1.258401266e-05,
    0.01678568434, -0.2965590465, 0.0001680392091, -0.05123282377, 0.02274657745, 5.234679991e-06, -0.03823946595,
    0.03067073741, 5.643244338e-06, -0.7362782242, 0.03517038713, 0.0002671306208, -0.1164120324, 0.3369878904,
    5.057026392e-05, -0.06562506761, 0.2144674062, 3.035988989e-05, 0.4980035559, -0.8895677946, 0.000162786597,
    1.169671541, 0.07156566577, -0.07789067514, 9.063123446e-05, -0.0406512131, 0.03413970752, 1.485204147e-05,
    -0.01471165657, 0.01485988086, 4.618663414e-06, -0.0430792165, -0.01034296087, 0.0001218521092, -0.06501088857,
    -0.03618121143, 1.759410989e-05, -0.03949133565, 0.009932987119, 7.09172642e-06, 0.2156297875, -0.2113498991,
    0.0001389271499, -0.02324473619, 0.008238406353, 7.729803494e-06, -0.00103009308, 0.01542702961, 7.427992361e-06,
    -0.1237643615, -0.1635033991, 0.0003093681442, -0.1179130175, 0.381860644, 5.081451911e-05, -0.101360504,
    0.1890430049, 2.397268657e-05, 0.3208675703, -0.9220664776, 0.0001404772873, 1.231162649, -0.09834988639,
    0.002097976677, 9.402616269e-05, 0.03916617866, 0.07023439677, 1.040602481e-05, 0.01308861867, 0.02259017059,
    3.729020646e-06, 0.004148291986, -0.187235386, 0.0001273988249, -0.08169846596, -0.02678108196, 1.266361249e-05,
    -0.03174949706, -0.03288929278, 6.389153301e-06, 0.04286676839, -0.4935500518, 0.0001459866253, -0.02207453797,
    -0.008618590169, 4.410549446e-06, -0.008415331616, 0.009896555758, 1.919708844e-06, -0.05523561949, 0.1532236545,
    0.0003051663376, -0.01768335419, 0.3824041992, 4.736490321e-05, 0.004435880575, 0.1986915736, 2.374586662e-05,
    -0.07026817621, -1.328278677, 0.0001863935083, 1.316084838, -0.20966986, -0.2536848921, 8.490614364e-05,
    0.01269128129, 0.06099819031, 8.165656018e-06, -0.01664316357, -0.0004409740717, 3.05823849e-06, 0.05456513638,
    -0.1474054467, 0.0001501290748, -0.1704935626, 0.01450916078, 1.705477033e-05, -0.0997750518, 0.01214683673,
    1.16944771e-05, -0.003430420978, 0.4211459035, 0.0001366196308, -0.03933361727, 0.01009963845, 8.759380642e-06,
    -0.03406094487, -4.22829464e-05, 5.671748512e-06, 0.2438859941, 0.1295301433, 0.0002422224653, 0.02300047721,
    0.3421697574, 3.949054937e-05, 0.01469794437, 0.1607339227, 1.681233692e-05, 0.425336071, -0.3440971301,
    0.0001212604366, 0.9305761896, 0.1539137679, -0.1487993822, 9.749579621e-05, -0.03710322834, 0.009189214042,
    6.901893131e-06, -0.01081218663, 0.00423231765, 6.334752778e-06, -0.1047308264, -0.0215919352, 8.747985822e-05,
    0.01612860596, 0.03528135251, 7.111666358e-06, 0.02329419232, 0.007818387366, 8.010551128e-06, 0.03243145153,
    -0.3351954743, 0.0001309252323, 0.03156193418, 0.01626549192, 4.361495439e-06, 0.0167551352, 0.02375312193,
    5.819533487e-06, 0.09923850277, -0.5731314697, 0.0001636852355, -0.1398341662, 0.09480328907, 2.652155698e-05,
    -0.09713497877, 0.08033072679, 1.468115002e-05, 0.2267771002, -0.2378113712, 0.0001179777734, 1.148696055,
    0.1634883586, -0.154148895, 9.076191725e-05, 0.04228910186, 0.06896595351, 8.345991593e-06, 0.02188840967,
    0.0423764687, 7.335404036e-06, 0.001726807677, -0.1655707027, 0.0001600935138, -0.02535399907, 0.007318277039,
    2.06770923e-05, -0.005248819393, 0.024851371, 1.584528272e-05, 0.009860008703, -0.08437009767, 0.0001332094441,
    -0.01640157848, 0.0527488189, 1.056994942e-05, -0.02010936341, 0.03885944012, 8.597187795e-06, -0.1574276804,
    -0.09759618539, 0.0002382676091, -0.06159635643, 0.2158083291, 2.296664345e-05, -0.05811559701, 0.1423877935,
    1.721649038e-05, 0.3797117972, -1.085743573, 0.0001154830556, 1.109690908, 0.2504186783, 0.1819997575,
    7.345718103e-05, -0.061445123, -0.007745846603, 1.311935293e-05, -0.009573986171, -0.01115911437, 6.16149161e-06,
    -0.08560954731, 0.05580149481, 9.811148386e-05, -0.06564728992, 0.009361416224, 5.504731809e-06, -0.06950068529,
    0.01627921795, 5.365200179e-06, -0.005950800037, 0.2608767479, 0.0001192810752, -0.005885430094, -0.002599619372,
    2.572073506e-06, -0.01653505823, -0.009570033937, 3.237114677e-06, -0.3291328256, 0.4675544629, 0.0001593858292,
    -0.06988789323, 0.1436839887, 2.185707544e-05, -0.03208438306, 0.0933552414, 1.142243115e-05, -0.2586601112,
    0.153626059, 0.0001288313883, 1.180967443, -0.05188564764, -0.05711329226, 6.405406243e-05, 0.03434164845,
    0.02319151099, 1.528276169e-05, 0.01595670103, -0.03195954164, 1.165681932e-05, -0.03486426531, -0.04269231664,
    0.000118800835, -0.08290567831, -0.02898007592, 1.190263125e-05, -0.0821673777, -0.02030332528, 1.16445015e-05,
    0.0710427638, 0.1725157493, 0.0001227787306, -0.01165805912, -0.02350795453, 4.981714843e-06, -0.04800673537,
    -0.009733704376, 5.306456049e-06, -0.01647238258, 0.04629146066, 0.0002539208177, 0.01835550628, 0.2462816257,
    2.669911673e-05, 0.05922699692, 0.171075683, 1.912793816e-05, -0.2410378403, 0.2054798205, 0.0001722806987,
    1.023543694, 0.004119597493, 0.3033297081, 5.244844578e-05, -0.02991661689, 0.02759973412, 7.868039985e-06,
    -0.01344397691, 0.02042184114, 4.325531556e-06, 0.0782429333, -0.04460769396, 6.079967105e-05, -0.02373102778,
    0.01132100386, 5.027057168e-06, 0.005963558075, 0.005110431401, 3.719622673e-06, -0.09024550546, -0.06105779051,
    7.386311728e-05, -0.001470463711, 0.02101184219, 2.699417262e-06, 0.004315266751, 0.01341198581, 3.757003733e-06,
    -0.1123517517, -0.03748541349, 0.0001939884643, -0.06647647169, 0.1429313826, 2.403986327e-05, -0.04327918998,
    0.05460067415, 9.852940243e-06, 0.1494634672, -0.6044800499, 9.168005399e-05, 1.180754827, -0.03704022938,
    0.006873242143, 6.111273526e-05, -0.05991572703, 0.03442819727, 1.252756529e-05, -0.02940439302, -0.00313366616,
    5.688885023e-06, -0.05429240665, -0.0288587508, 7.689387952e-05, -0.05370579213, 0.002642906363, 7.08385496e-06,
    -0.05094023316, -0.01569362508, 6.303834915e-06, 0.03364609679, 0.2766635919, 0.0001124773232, -0.03649222221,
    -0.02987596694, 1.413081335e-05, -0.04287896311, -0.02475539541, 8.441169488e-06, -0.08024714491, -0.3651791683,
    0.0002152962338, 0.03184227741, 0.2235203763, 3.114374313e-05, 0.0733570051, 0.08156678509, 1.372969032e-05,
    0.203729541, -0.7558653165, 0.0001251140804};
static rg_tensor resnet(rg_ctx *c, const rg_tensor *w, const rg_tensor *x) {
    (void)c;
    rg_tensor t1 = rg_conv2d(x[0], w[0], .padding = RG_SHAPE(1));
    rg_tensor t2 = rg_mean(t1, .axes = RG_SHAPE(0, 2, 3), .keep = true);
    rg_tensor t3 = rg_sub(t1, t2);
    rg_tensor t4 = rg_square(t3);
    rg_tensor t5 = rg_mean(t4, .axes = RG_SHAPE(0, 2, 3), .keep = true);
    rg_tensor t6 = rg_add(t5, 1e-05);
    rg_tensor t7 = rg_rsqrt(t6);
    rg_tensor t8 = rg_mul(t3, t7);
    rg_tensor t9 = rg_reshape(w[1], RG_SHAPE(1, -1, 1, 1));
    rg_tensor t10 = rg_mul(t8, t9);
    rg_tensor t11 = rg_reshape(w[2], RG_SHAPE(1, -1, 1, 1));
    rg_tensor t12 = rg_add(t10, t11);
    rg_tensor t13 = rg_relu(t12);
    rg_tensor t14 = rg_conv2d(t13, w[3], .padding = RG_SHAPE(1));
    rg_tensor t15 = rg_mean(t14, .axes = RG_SHAPE(0, 2, 3), .keep = true);
    rg_tensor t16 = rg_sub(t14, t15);
    rg_tensor t17 = rg_square(t16);
    rg_tensor t18 = rg_mean(t17, .axes = RG_SHAPE(0, 2, 3), .keep = true);
    rg_tensor t19 = rg_add(t18, 1e-05);
    rg_tensor t20 = rg_rsqrt(t19);
    rg_tensor t21 = rg_mul(t16, t20);
    rg_tensor t22 = rg_reshape(w[4], RG_SHAPE(1, -1, 1, 1));
    rg_tensor t23 = rg_mul(t21, t22);
    rg_tensor t24 = rg_reshape(w[5], RG_SHAPE(1, -1, 1, 1));
    rg_tensor t25 = rg_add(t23, t24);
    rg_tensor t26 = rg_relu(t25);
    rg_tensor t27 = rg_conv2d(t26, w[6], .padding = RG_SHAPE(1));
    rg_tensor t28 = rg_mean(t27, .axes = RG_SHAPE(0, 2, 3), .keep = true);
    rg_tensor t29 = rg_sub(t27, t28);
    rg_tensor t30 = rg_square(t29);
    rg_tensor t31 = rg_mean(t30, .axes = RG_SHAPE(0, 2, 3), .keep = true);
    rg_tensor t32 = rg_add(t31, 1e-05);
    rg_tensor t33 = rg_rsqrt(t32);
    rg_tensor t34 = rg_mul(t29, t33);
    rg_tensor t35 = rg_reshape(w[7], RG_SHAPE(1, -1, 1, 1));
    rg_tensor t36 = rg_mul(t34, t35);
    rg_tensor t37 = rg_reshape(w[8], RG_SHAPE(1, -1, 1, 1));
    rg_tensor t38 = rg_add(t36, t37);
    rg_tensor t39 = rg_add(t13, t38);
    rg_tensor t40 = rg_relu(t39);
    rg_tensor t41 = rg_conv2d(t40, w[15], .padding = RG_SHAPE(0), .stride = RG_SHAPE(2));
    rg_tensor t42 = rg_mean(t41, .axes = RG_SHAPE(0, 2, 3), .keep = true);
    rg_tensor t43 = rg_sub(t41, t42);
    rg_tensor t44 = rg_square(t43);
    rg_tensor t45 = rg_mean(t44, .axes = RG_SHAPE(0, 2, 3), .keep = true);
    rg_tensor t46 = rg_add(t45, 1e-05);
    rg_tensor t47 = rg_rsqrt(t46);
    rg_tensor t48 = rg_mul(t43, t47);
    rg_tensor t49 = rg_reshape(w[16], RG_SHAPE(1, -1, 1, 1));
    rg_tensor t50 = rg_mul(t48, t49);
    rg_tensor t51 = rg_reshape(w[17], RG_SHAPE(1, -1, 1, 1));
    rg_tensor t52 = rg_add(t50, t51);
    rg_tensor t53 = rg_conv2d(t40, w[9], .padding = RG_SHAPE(1), .stride = RG_SHAPE(2));
    rg_tensor t54 = rg_mean(t53, .axes = RG_SHAPE(0, 2, 3), .keep = true);
    rg_tensor t55 = rg_sub(t53, t54);
    rg_tensor t56 = rg_square(t55);
    rg_tensor t57 = rg_mean(t56, .axes = RG_SHAPE(0, 2, 3), .keep = true);
    rg_tensor t58 = rg_add(t57, 1e-05);
    rg_tensor t59 = rg_rsqrt(t58);
    rg_tensor t60 = rg_mul(t55, t59);
    rg_tensor t61 = rg_reshape(w[10], RG_SHAPE(1, -1, 1, 1));
    rg_tensor t62 = rg_mul(t60, t61);
    rg_tensor t63 = rg_reshape(w[11], RG_SHAPE(1, -1, 1, 1));
    rg_tensor t64 = rg_add(t62, t63);
    rg_tensor t65 = rg_relu(t64);
    rg_tensor t66 = rg_conv2d(t65, w[12], .padding = RG_SHAPE(1));
    rg_tensor t67 = rg_mean(t66, .axes = RG_SHAPE(0, 2, 3), .keep = true);
    rg_tensor t68 = rg_sub(t66, t67);
    rg_tensor t69 = rg_square(t68);
    rg_tensor t70 = rg_mean(t69, .axes = RG_SHAPE(0, 2, 3), .keep = true);
    rg_tensor t71 = rg_add(t70, 1e-05);
    rg_tensor t72 = rg_rsqrt(t71);
    rg_tensor t73 = rg_mul(t68, t72);
    rg_tensor t74 = rg_reshape(w[13], RG_SHAPE(1, -1, 1, 1));
    rg_tensor t75 = rg_mul(t73, t74);
    rg_tensor t76 = rg_reshape(w[14], RG_SHAPE(1, -1, 1, 1));
    rg_tensor t77 = rg_add(t75, t76);
    rg_tensor t78 = rg_add(t52, t77);
    rg_tensor t79 = rg_relu(t78);
    rg_tensor t80 = rg_mean(t79, .axes = RG_SHAPE(2, 3));
    rg_tensor t81 = rg_linear(t80, w[18], w[19]);
    rg_tensor t82 = rg_cross_entropy(t81, x[1], .reduction = RG_MEAN);
    return t82;
}
static const struct made resnet_params[] = {{{4, 3, 3, 3}, 4, .scale = 0.19245008972987526}, {{4}, 1, .fill = 1},
    {{4}, 1, .fill = 0}, {{4, 4, 3, 3}, 4, .scale = 0.16666666666666666}, {{4}, 1, .fill = 1}, {{4}, 1, .fill = 0},
    {{4, 4, 3, 3}, 4, .scale = 0.16666666666666666}, {{4}, 1, .fill = 1}, {{4}, 1, .fill = 0}, {{8, 4, 3, 3}, 4,
    .scale = 0.16666666666666666}, {{8}, 1, .fill = 1}, {{8}, 1, .fill = 0}, {{8, 8, 3, 3}, 4, .scale =
    0.11785113019775792}, {{8}, 1, .fill = 1}, {{8}, 1, .fill = 0}, {{8, 4, 1, 1}, 4, .scale = 0.5}, {{8}, 1, .fill =
    1}, {{8}, 1, .fill = 0}, {{5, 8}, 2, .scale = 0.35355339059327379}, {{5}, 1, .scale = 1}};
static const struct made resnet_inputs[] = {{{3, 3, 8, 8}, 4, .scale = 1}, {{3}, 1, .classes = 5}};
static const double resnet_want[] = {1.353127569, -0.2859624613, -1.037808309, 0.0002788101332, 0.03634605888,
    -0.07087615215, 2.03311618e-05, 0.1743131347, -0.1486199309, 3.061644397e-05, 0.9708227313, -0.2902790509,
    0.0002310029317, 0.06525134945, 0.01611878823, 9.654293187e-06, -0.02612923744, -0.05197021009, 6.867614629e-06,
    -0.1282372514, 0.3815274439, 0.0002230285473, -0.1042135252, 0.03906570341, 1.347505926e-05, -0.1019726569,
    -0.1301787382, 3.091843358e-05, -0.412005703, -0.1441202095, 0.0003103728905, -0.03918690112, -0.06310354204,
    1.533544244e-05, -0.004128861978, -0.01861738442, 8.320434183e-06, 0.0605614372, 0.3699229622, 0.0003604367506,
    0.3755070646, 0.1629227161, 5.499413584e-05, 0.7330664518, 0.1457577111, 0.0001013582283, -0.07903029159,
    -0.02029336506, 2.948029308e-05, 0.3957816047, 0.04748039012, 5.114239595e-05, 0.7330664518, 0.1457577111,
    0.0001013582283, 0.07204552209, -0.1708003665, 0.0001737484502, 0.8019715091, 0.3919307341, 9.349807479e-05,
    1.772333405, 0.2520128946, 0.2265241411, 0.0001067001557, -0.02649264473, 0.01101974856, 1.060556962e-05,
    0.002144788976, -0.02197375022, 5.467437286e-06, -0.2664504019, 0.2473492426, 0.0001178125162, 0.001580652338,
    0.001996305883, 1.889171112e-06, 0.06317715013, -0.005927628391, 8.813769704e-06, 0.215840347, -0.3292392002,
    9.608244224e-05, -0.01879931477, -0.01845840004, 5.183142197e-06, 0.03639598165, 0.006033500169, 6.438919815e-06,
    -0.2217429488, 0.02097872905, 0.0001238269687, 0.01246304695, -0.03058679158, 5.240759429e-06, 0.009864166746,
    -0.0318819996, 6.340226029e-06, 0.7840725372, 0.3140256804, 0.0002557527577, -0.004782624352, 0.2017007249,
    3.400620514e-05, 0.05118975182, 0.3842891112, 7.093968592e-05, 0.04138828975, -0.04370605697, 2.912804031e-05,
    -0.004810534697, 0.1918354637, 3.242261176e-05, 0.05118975182, 0.3842891112, 7.093968592e-05, -0.1281492169,
    2.906140064, 0.0003303671487, 0.85222565, 0.06393090493, 0.0001854553624, 2.057537633, -0.4950327405,
    -0.933284732, 0.000425188489, 0.0880018434, 0.03257528372, 7.72719702e-06, -0.06613296547, -0.1186463407,
    1.152615358e-05, 0.2659966909, 0.0706782615, 0.0002626553463, -0.06389813549, -0.02294358736, 1.109363966e-05,
    -0.06507345623, -0.07673771376, 1.277062357e-05, -0.3252088064, -0.07000076394, 0.0002784382269, 0.1737630841,
    0.03147885242, 2.466963086e-05, 0.05489078237, 0.0387545483, 8.869354259e-06, 0.1218539575, -0.1682839009,
    0.0002321915649, -0.001484507876, 0.02368154935, 1.981505713e-05, 0.02839672442, -0.05688897324, 1.620683538e-05,
    0.2842112936, 1.013277366, 0.0006093601929, -0.1710819186, 0.05565081668, 5.464569958e-05, -0.0975011037,
    -0.03237346529, 8.294176139e-05, 0.1010476434, -0.03956917573, 7.606864473e-05, -0.1571362931, 0.00528770572,
    3.818963896e-05, -0.0975011037, -0.03237346529, 8.294176139e-05, 0.5313847213, -1.075549834, 0.0002782602714,
    0.2887917303, -0.03286779566, 0.0001333721285, 1.699407598, 0.9004698803, -1.301475137, 0.0005073604719,
    -0.2477461668, 0.007044001414, 3.357782808e-05, -0.15705163, 0.0567786609, 2.632708431e-05, 0.1486198137,
    0.008206461791, 0.0002797586785, 0.06729565656, 0.01924737893, 6.990229715e-06, 0.07741424893, 0.0526993233,
    9.835725507e-06, -0.4112654981, -0.05203191093, 0.000242942215, 0.1466860326, -0.03974500723, 2.202786265e-05,
    0.03243440596, 0.02726996606, 1.022461713e-05, -0.2924139607, 0.1410013355, 0.0003529844239, -0.005831389238,
    0.001275688555, 1.025703641e-05, 0.06914022698, 0.06194091965, 1.271110886e-05, 0.7039283096, 0.5184220557,
    0.0005290353709, -0.2837236803, 0.06372768772, 4.145087011e-05, -0.4213371757, 0.02100282174, 6.204209022e-05,
    0.05279323839, 0.03143880763, 6.113041822e-05, -0.1634707431, -0.07418646743, 3.963970972e-05, -0.4213371757,
    0.02100282174, 6.204209022e-05, 0.3741108119, 1.15353484, 0.0001999558881, 0.02292197155, -0.1729844104,
    7.463683588e-05, 2.409684165, 1.051976567, -0.5133280647, 0.0003215686787, -0.09599563026, -0.1018550621,
    2.013732222e-05, -0.3244385276, -0.07462637066, 2.870996435e-05, -0.1499154006, 0.7366348632, 0.0003311549359,
    0.07398727083, 0.02090875814, 1.142171127e-05, 0.008839191207, -0.04905945029, 1.556758044e-05, 0.08007378432,
    -0.6709000227, 0.0002759222679, 0.002918052515, 0.07337887762, 1.810698133e-05, -0.06750436175, -0.03537127872,
    1.211342565e-05, 0.09867648942, 0.1842448925, 0.000304751756, 0.00363869211, 0.1630502731, 2.117634167e-05,
    0.08893541743, 0.06116726632, 1.976049757e-05, -0.2011026856, -0.4674908441, 0.0004994607027, -0.2994024837,
    -0.08158375582, 3.853466121e-05, -0.5348489842, -0.1502144354, 8.305713027e-05, -0.07156088478, 0.07245855547,
    6.862373357e-05, -0.2624917576, -0.05719741474, 3.509761965e-05, -0.5348489842, -0.1502144354, 8.305713027e-05,
    0.5325579572, 0.536493928, 0.0001632571047, -0.4745097235, -0.325305691, 7.203073904e-05, 1.145923184,
    1.013343656, -0.6724182771, 0.0003674449104, 0.1055864891, 0.05409943342, 2.555006867e-05, -0.007665320273,
    0.1356220544, 1.969104391e-05, 0.2083525918, 0.01806721491, 0.0003643839333, 0.08483048734, 0.03080854385,
    1.638955242e-05, 0.09065058327, 0.07242318455, 1.12429105e-05, 0.9123567801, 0.2666093531, 0.0003769013672,
    0.1593235501, 0.01086471641, 2.308378962e-05, 0.01309212481, -0.03453733502, 1.479074246e-05, -0.2346273843,
    -0.2109617375, 0.0003032720576, -0.02978101655, 0.07300177337, 1.396034929e-05, -0.05511640259, 0.03473999569,
    1.738079096e-05, -0.3530301174, 0.5623584921, 0.0003930415397, -0.03755221628, 0.00293590153, 1.296686658e-05,
    -0.008370838822, 0.01347599288, 2.082716761e-05, 0.1782182502, 0.00044714346, 9.529577386e-05, -0.004506078616,
    -0.06246419959, 1.673804769e-05, -0.008370838822, 0.01347599288, 2.082716761e-05, -0.2667289893, 0.5343426534,
    9.365591426e-05, 0.08230399239, 0.03943502836, 2.82177235e-05, 2.466676152, 0.5297263446, 0.9419331807,
    0.0003826334816, -0.2688017132, -0.03785099315, 4.56752958e-05, -0.3595968503, -0.07990874743, 4.776398788e-05,
    -0.7911668035, 2.101596804, 0.0002618805274, -0.1150805793, -0.03024933815, 1.418276832e-05, -0.005094887008,
    -0.08860021545, 1.070719547e-05, 0.811130061, -0.289804179, 0.0002486570306, 0.02776834662, -0.02867525784,
    2.249881424e-05, -0.07617876619, -0.1750970232, 2.615173447e-05, 1.023452606, 1.078490832, 0.0003706229162,
    0.1199328095, -0.04188507314, 1.971946737e-05, 0.06979547474, -0.02306812191, 1.939811876e-05, -0.4406220964,
    -1.177278155, 0.0007628816526, -0.03247765908, -0.02935362291, 2.905559078e-05, 0.09078820223, -0.1762783354,
    8.591658421e-05, -0.02968536644, -0.1631831046, 5.718724164e-05, 0.1955284056, -0.01463655858, 5.230411121e-05,
    0.09078820223, -0.1762783354, 8.591658421e-05, 0.6993261792, -0.2752359887, 0.0001652774894, 0.1200444668,
    0.01053019957, 8.202962042e-05, 2.004839194, -0.1402735119, 0.4323281059, 0.0004358158591, 0.1389190449,
    -0.05297291736, 1.416641691e-05, 0.007416572022, 0.0002571180128, 1.532834303e-05, 0.1092674909, 0.7849029992,
    0.0003463785821, -0.0801161348, -0.01975898595, 1.345902022e-05, -0.02291487597, -0.05617914786, 1.991108211e-05,
    -0.2004855387, -0.220259613, 0.000361669977, 0.0664704204, 0.1063634559, 1.461444179e-05, 0.07348992806,
    -0.02041746205, 8.926296069e-06, -0.7200032548, 0.5447267988, 0.000401427468, -0.06450807506, -0.06220228649,
    1.654811169e-05, -0.1151767445, -0.01176719703, 1.910302068e-05, 0.3159706522, -1.237339445, 0.0006168552767,
    0.02285380817, 0.03257540796, 3.497016386e-05, 0.04595491668, -0.2127499146, 3.187609659e-05, -0.1548276817,
    -0.0158880592, 9.073760604e-05, 0.1345504484, -0.1428409194, 2.127447725e-05, 0.04595491668, -0.2127499146,
    3.187609659e-05, -0.09133855067, 0.5044819824, 0.0001527437228, -0.4083503001, -0.1011980886, 6.754075086e-05,
    1.149488743, -0.8480360588, 0.4594706874, 0.0002144193331, 0.1325711774, 0.1211666451, 3.099696567e-05,
    0.1539018446, 0.2741564979, 3.663143723e-05, 0.7680986728, 0.5359004331, 0.000226864732, 0.1106946534,
    0.02181577934, 1.764911843e-05, 0.05075771683, 0.08027105055, 1.473002429e-05, 0.4259326222, 0.1766871673,
    0.0002378173639, -0.09014443994, -0.1029124636, 1.267835839e-05, -0.01913178024, 0.06220858608, 2.448069083e-05,
    -0.2591036528, -0.3288806074, 0.0002630052942, -0.0564713275, -0.0003272658931, 1.467692484e-05, -0.03901991222,
    0.05459373982, 2.040897439e-05, 0.180797372, 1.574789431, 0.0003670327871, -0.02980731861, 0.0269702378,
    8.124113817e-06, 0.1202343574, 0.1448216503, 2.832303794e-05, -0.02923023229, -0.01255898312, 2.522450682e-05,
    0.02220073045, 0.03746611092, 1.530722216e-05, 0.1202343574, 0.1448216503, 2.832303794e-05, -0.05417117403,
    0.3934319073, 0.0001195854334, 0.06796438735, 0.03418622826, 3.08854712e-05, 2.500071045, -0.427769272,
    0.9473853994, 0.0003162205763, -0.03885310937, 0.03400804832, 1.762658524e-05, -0.07396854063, -0.1184108055,
    1.356404601e-05, -0.04704380104, -0.01708413915, 0.0002467967477, -0.0001853965918, 0.001456745238,
    1.24706088e-05, -0.06336337605, -0.006903014777, 1.383699508e-05, -0.5945457462, 0.1652125451, 0.0002799293166,
    0.02628474205, -0.0251200527, 2.235889968e-05, -0.04905406142, -0.03300447845, 9.039266253e-06, 0.5970515856,
    0.8477353498, 0.0002705849106, 0.05229330144, 0.06018065826, 1.568455489e-05, -0.002026947393, 0.008603417343,
    1.190476764e-05, -1.155292878, -0.5346129053, 0.0004293345566, -0.3764295278, -0.1644259459, 4.733690223e-05,
    -0.7087657817, -0.1594027984, 9.986386192e-05, -0.2777769444, 0.4851267062, 0.0001017180259, -0.3515039574,
    0.09275771495, 6.765350178e-05, -0.7087657817, -0.1594027984, 9.986386192e-05, 0.3482564523, 0.4235014287,
    0.0001669705087, -0.5681970053, -0.376820574, 8.474192031e-05};
static rg_tensor llama(rg_ctx *c, const rg_tensor *w, const rg_tensor *x) {
    (void)c;
    rg_tensor t1 = rg_embedding(x[0], w[0]);
    rg_tensor t2 = rg_rmsnorm(t1, w[8]);
    rg_tensor t3 = rg_linear(t2, w[1], RG_NONE);
    rg_tensor t4 = rg_reshape(t3, RG_SHAPE(2, 6, 4, 4));
    rg_tensor t5 = rg_permute(t4, RG_SHAPE(0, 2, 1, 3));
    rg_tensor t6 = rg_linear(t2, w[2], RG_NONE);
    rg_tensor t7 = rg_reshape(t6, RG_SHAPE(2, 6, 2, 4));
    rg_tensor t8 = rg_permute(t7, RG_SHAPE(0, 2, 1, 3));
    rg_tensor t9 = rg_linear(t2, w[3], RG_NONE);
    rg_tensor t10 = rg_reshape(t9, RG_SHAPE(2, 6, 2, 4));
    rg_tensor t11 = rg_permute(t10, RG_SHAPE(0, 2, 1, 3));
    rg_tensor t12 = rg_narrow(t5, -1, 2, 2);
    rg_tensor t13 = rg_neg(t12);
    rg_tensor t14 = rg_narrow(t5, -1, 0, 2);
    rg_tensor t15 = rg_cat(RG_TENSORS(t13, t14), -1);
    rg_tensor t16 = rg_mul(t5, x[2]);
    rg_tensor t17 = rg_mul(t15, x[3]);
    rg_tensor t18 = rg_add(t16, t17);
    rg_tensor t19 = rg_narrow(t8, -1, 2, 2);
    rg_tensor t20 = rg_neg(t19);
    rg_tensor t21 = rg_narrow(t8, -1, 0, 2);
    rg_tensor t22 = rg_cat(RG_TENSORS(t20, t21), -1);
    rg_tensor t23 = rg_mul(t8, x[2]);
    rg_tensor t24 = rg_mul(t22, x[3]);
    rg_tensor t25 = rg_add(t23, t24);
    rg_tensor t26 = rg_attention(t18, t25, t11, .causal = true);
    rg_tensor t27 = rg_permute(t26, RG_SHAPE(0, 2, 1, 3));
    rg_tensor t28 = rg_reshape(t27, RG_SHAPE(2, 6, 16));
    rg_tensor t29 = rg_linear(t28, w[4], RG_NONE);
    rg_tensor t30 = rg_add(t1, t29);
    rg_tensor t31 = rg_rmsnorm(t30, w[9]);
    rg_tensor t32 = rg_linear(t31, w[5], RG_NONE);
    rg_tensor t33 = rg_silu(t32);
    rg_tensor t34 = rg_linear(t31, w[6], RG_NONE);
    rg_tensor t35 = rg_mul(t33, t34);
    rg_tensor t36 = rg_linear(t35, w[7], RG_NONE);
    rg_tensor t37 = rg_add(t30, t36);
    rg_tensor t38 = rg_rmsnorm(t37, w[17]);
    rg_tensor t39 = rg_linear(t38, w[10], RG_NONE);
    rg_tensor t40 = rg_reshape(t39, RG_SHAPE(2, 6, 4, 4));
    rg_tensor t41 = rg_permute(t40, RG_SHAPE(0, 2, 1, 3));
    rg_tensor t42 = rg_linear(t38, w[11], RG_NONE);
    rg_tensor t43 = rg_reshape(t42, RG_SHAPE(2, 6, 2, 4));
    rg_tensor t44 = rg_permute(t43, RG_SHAPE(0, 2, 1, 3));
    rg_tensor t45 = rg_linear(t38, w[12], RG_NONE);
    rg_tensor t46 = rg_reshape(t45, RG_SHAPE(2, 6, 2, 4));
    rg_tensor t47 = rg_permute(t46, RG_SHAPE(0, 2, 1, 3));
    rg_tensor t48 = rg_narrow(t41, -1, 2, 2);
    rg_tensor t49 = rg_neg(t48);
    rg_tensor t50 = rg_narrow(t41, -1, 0, 2);
    rg_tensor t51 = rg_cat(RG_TENSORS(t49, t50), -1);
    rg_tensor t52 = rg_mul(t41, x[2]);
    rg_tensor t53 = rg_mul(t51, x[3]);
    rg_tensor t54 = rg_add(t52, t53);
    rg_tensor t55 = rg_narrow(t44, -1, 2, 2);
    rg_tensor t56 = rg_neg(t55);
    rg_tensor t57 = rg_narrow(t44, -1, 0, 2);
    rg_tensor t58 = rg_cat(RG_TENSORS(t56, t57), -1);
    rg_tensor t59 = rg_mul(t44, x[2]);
    rg_tensor t60 = rg_mul(t58, x[3]);
    rg_tensor t61 = rg_add(t59, t60);
    rg_tensor t62 = rg_attention(t54, t61, t47, .causal = true);
    rg_tensor t63 = rg_permute(t62, RG_SHAPE(0, 2, 1, 3));
    rg_tensor t64 = rg_reshape(t63, RG_SHAPE(2, 6, 16));
    rg_tensor t65 = rg_linear(t64, w[13], RG_NONE);
    rg_tensor t66 = rg_add(t37, t65);
    rg_tensor t67 = rg_rmsnorm(t66, w[18]);
    rg_tensor t68 = rg_linear(t67, w[14], RG_NONE);
    rg_tensor t69 = rg_silu(t68);
    rg_tensor t70 = rg_linear(t67, w[15], RG_NONE);
    rg_tensor t71 = rg_mul(t69, t70);
    rg_tensor t72 = rg_linear(t71, w[16], RG_NONE);
    rg_tensor t73 = rg_add(t66, t72);
    rg_tensor t74 = rg_rmsnorm(t73, w[19]);
    rg_tensor t75 = rg_linear(t74, w[20], RG_NONE);
    rg_tensor t76 = rg_reshape(t75, RG_SHAPE(12, 13));
    rg_tensor t77 = rg_reshape(x[1], RG_SHAPE(12));
    rg_tensor t78 = rg_cross_entropy(t76, t77, .reduction = RG_MEAN);
    return t78;
}
static const struct made llama_params[] = {{{13, 16}, 2, .scale = 0.25}, {{16, 16}, 2, .scale = 0.25}, {{8, 16}, 2,
    .scale = 0.25}, {{8, 16}, 2, .scale = 0.25}, {{16, 16}, 2, .scale = 0.25}, {{24, 16}, 2, .scale = 0.25}, {{24,
    16}, 2, .scale = 0.25}, {{16, 24}, 2, .scale = 0.20412414523193151}, {{16}, 1, .fill = 1}, {{16}, 1, .fill = 1},
    {{16, 16}, 2, .scale = 0.25}, {{8, 16}, 2, .scale = 0.25}, {{8, 16}, 2, .scale = 0.25}, {{16, 16}, 2, .scale =
    0.25}, {{24, 16}, 2, .scale = 0.25}, {{24, 16}, 2, .scale = 0.25}, {{16, 24}, 2, .scale = 0.20412414523193151},
    {{16}, 1, .fill = 1}, {{16}, 1, .fill = 1}, {{16}, 1, .fill = 1}, {{13, 16}, 2, .scale = 0.25}};
static const struct made llama_inputs[] = {{{2, 6}, 2, .classes = 13}, {{2, 6}, 2, .classes = 13}, {{6, 4}, 2, .table
    = (float[]){1, 1, 1, 1, 0.540302277, 0.999949992, 0.540302277, 0.999949992, -0.416146845, 0.999800026,
    -0.416146845, 0.999800026, -0.989992499, 0.999550045, -0.989992499, 0.999550045, -0.653643608, 0.999200106,
    -0.653643608, 0.999200106, 0.2836622, 0.998750269, 0.2836622, 0.998750269}}, {{6, 4}, 2, .table = (float[]){0, 0,
    0, 0, 0.841470957, 0.00999983307, 0.841470957, 0.00999983307, 0.909297407, 0.0199986659, 0.909297407,
    0.0199986659, 0.141120002, 0.029995501, 0.141120002, 0.029995501, -0.756802499, 0.0399893336, -0.756802499,
    0.0399893336, -0.958924294, 0.0499791689, -0.958924294, 0.0499791689}}};
static const double llama_want[] = {3.067898489, -0.04747188709, -0.08697769077, 0.000845119593, 0.4363207928,
    -0.3268908433, 0.0004447621294, 0.2041884495, -0.1948673278, 0.0002144152662, 0.1843292895, -0.2342772446,
    0.0005167341175, -0.1788454919, 0.1436928482, 0.000369578626, 0.5848274199, -0.0620016491, 0.0002309227027,
    1.012147383, -1.094508442, 0.0002652158884, -0.5301164869, 0.5169477006, 0.0004743242152, 0.7210790688,
    -0.1017345615, 0.0001113305454, 0.02253266726, -0.219969365, 7.188560219e-05, 0.3156461872, -0.4498825829,
    0.0002705089125, -0.3367954472, 0.1450456538, 0.0001310412602, -0.2043131721, -0.9517024414, 0.0004813470656,
    -0.6282555326, 1.227978013, 0.0004670212772, 0.5108871477, 0.02519700806, 0.0002254759018, 0.3140728924,
    0.07849998383, 0.0003370197578, 0.1013733118, -1.011509008, 0.0004722845328, -0.3253295552, -0.1654178162,
    9.187212619e-05, 0.08336629892, 0.1083521884, 3.814456498e-05, 0.1995619885, 0.09318865871, 8.814952189e-05,
    2.46219676, -0.2836087795, 0.000583664223, 2.964991828, -2.131555158, 0.3905997521, 0.0008775045975, -0.640103095,
    -0.1761482499, 0.0003609338399, -0.1194641164, -1.1064371, 0.0001405318636, 1.345461428, -0.9576464065,
    0.0004264138207, 0.2904340159, 0.07417835018, 0.0003264562627, -0.513894038, -0.3739426313, 0.000327252066,
    0.105693621, 0.06089197534, 0.0002903906034, 0.352899502, -0.4411831437, 0.0002642964738, 0.5453430469,
    -0.01379737501, 7.422783826e-05, 0.03891794224, 0.2459259649, 8.885152127e-05, -0.1900492658, -0.2664528324,
    0.0001140086594, -0.3350544864, -0.1575843348, 8.946662259e-05, 0.04284072893, -0.01769195521, 0.0001331283233,
    0.1333982318, 0.5132767419, 0.0003219977261, -0.2112697094, -0.3261679653, 0.0001959363659, 0.009986796011,
    -0.2196541973, 0.0002672567425, -0.4281708346, 0.1779737251, 0.0003256119249, -0.04318637718, -0.07476289051,
    5.65963652e-05, -0.05191413575, -0.01637172924, 2.833884475e-05, 0.3810946016, 0.2462740546, 0.0001202281238,
    0.2977887344, 0.04492482433, 0.0007346088363, 2.867037185, -0.2950694184, 1.22089058, 0.0005531250493,
    0.7511047083, 0.6270721455, 0.0003335616371, -0.1903757156, 0.518564317, 0.0002786519686, 1.117366504,
    -0.4254706644, 0.0003697278739, -0.4772599679, -0.4079264881, 0.0004565593991, 0.5102095426, 0.4498161769,
    0.0003049065609, -0.3700219829, -0.2560094582, 0.0004848529156, -0.2108311391, -0.5431233919, 0.0004372115368,
    -0.2061452267, 0.105126524, 0.0001074146887, 0.04148125409, -0.1955015784, 7.838221828e-05, 0.07152854367,
    -0.4776465184, 0.0001288503972, -0.5168013336, -0.1881959446, 0.0001726188072, 0.2456799083, 0.3301061911,
    0.000324094947, -0.01398849129, -0.8611635725, 0.0003304963322, -1.376988856, 0.3745821268, 0.0004547611784,
    1.403982623, 0.1332682115, 0.000322598676, 1.161126144, -0.3062229011, 0.0004624101262, -0.03685022242,
    -0.2344393027, 4.11337372e-05, -0.233221424, -0.2901739836, 6.137245688e-05, -0.4373883605, -0.2994435642,
    7.636226035e-05, 0.5937560505, -0.9402576057, 0.0005733485539, 2.651582061, 1.274408841, -1.025737472,
    0.0009590120037, -0.5678048758, 0.0599520056, 0.0002266322369, -0.3172667707, 0.4398710282, 0.0001312013231,
    -1.286697392, -1.204970199, 0.0005617411185, 0.07453111429, 0.7198316466, 0.0008439007766, -0.06735561466,
    -1.18021198, 0.0002945629209, 0.4864315914, -0.2979030093, 0.0004261344744, -0.3740025662, 0.5564319161,
    0.000741977901, 0.4360189422, -0.058164754, 0.000101542088, 0.07141387275, -0.01249538694, 7.217467492e-05,
    -0.05245371394, -0.05710304619, 6.614114809e-05, 0.355340765, 0.08875056925, 6.664476206e-05, 0.3999914352,
    -0.6361812317, 0.0002504745169, -0.2189784438, 1.037278848, 0.0002782611077, 0.7460444314, -0.562251709,
    0.0002618490862, -0.7777714374, 0.5919876087, 0.000214921757, 1.314619693, 0.223147265, 0.0004730696339,
    0.00671867102, 0.06471394449, 5.419657268e-05, 0.004472906188, -0.1818287396, 6.710305377e-05, 0.09611556382,
    0.277810581, 4.879636878e-05, 0.5419303131, 0.453637574, 0.000632315268, 2.640937482, 0.1991082499,
    -0.03191088647, 0.0003945079886, -0.2700362112, 0.1971279683, 0.0002663660727, 0.1755081219, -0.4655682864,
    0.0001844609317, -0.5053690353, 0.04957013849, 0.0003066241675, 0.6738592038, 0.2089301332, 0.000630235414,
    -0.367953972, 0.1319071737, 0.0002501296555, 0.5295999718, -0.304742237, 0.0005397210295, -0.3518586955,
    0.1642661628, 0.0002655017161, 0.09983533835, 0.2077261201, 6.795898736e-05, 0.06797219066, 0.02383018382,
    5.891249266e-05, -0.01019669733, -0.03580967205, 3.033537439e-05, 0.01558953017, -0.1176398628, 3.905976497e-05,
    -0.130980146, 0.09933986933, 0.0001718963965, 1.013608354, -1.946753106, 0.0002596056428, 0.6160681408,
    -0.07954723383, 0.0003141291665, -0.542594643, 0.02096517716, 0.0002019519099, 0.2885778143, 0.08445343973,
    0.0002565682284, 0.08490670654, 0.0350599348, 2.872137911e-05, 0.162264993, 0.03706297842, 4.545918248e-05,
    0.02402743171, 0.3209638805, 4.950309367e-05, -1.010527346, 1.131720993, 0.0004603350643, 3.39873051, 1.191940022,
    1.260691867, 0.0006812563542, 0.3346368858, -0.7996913492, 0.0005293958625, 0.3867754928, -0.2940150468,
    0.000408526613, 0.3457230483, -0.6762684399, 0.0004338186486, 0.491798791, -0.5979817143, 0.0004160110071,
    0.7736056518, 0.4623456926, 0.0003124166057, -0.3359112406, 0.3964724486, 0.0002705538537, -0.6462625462,
    0.7889360769, 0.0003216591677, 0.485560556, -0.1503688914, 0.0001817568473, -0.1467077436, -0.1297852174,
    3.943519879e-05, 0.03799866944, 0.1732645588, 4.462509716e-05, 0.106492705, -0.134801096, 4.223009585e-05,
    -0.7913414512, 1.384795012, 0.0003725181788, -0.1521676014, -0.9432817955, 0.0006307629437, -0.1039591447,
    -0.2630343245, 0.0002726687114, 0.09009942355, -0.08731978566, 0.0002433368301, 0.1468671296, 0.9104046302,
    0.0002662410324, 0.3661527912, 0.3126602043, 7.041896091e-05, 0.05399937368, 0.0226089626, 5.289549997e-05,
    0.3617652105, 0.4045917276, 0.0001028227801, -0.9055102846, 0.7578226851, 0.0004585575148, 2.901486308,
    -6.616271823, 0.4569298002, 0.002561209388, 3.505580528, -0.5629770654, 0.0007460786545, 0.7707943115, 2.47977493,
    0.0007094638913, 1.232203162, 1.960972053, 0.001365665835, -2.207620953, -0.5759774332, 0.0008231819572,
    -0.6661620676, 0.3119423352, 0.0003931680843, 2.806589273, -1.392970508, 0.00218213276, -0.9420155693,
    -0.0669306149, 0.0006541565746, -0.371061352, -0.7066637972, 0.0002298921691, -0.28263919, -0.3951041658,
    0.0001188458793, -0.513948565, -0.2197853596, 0.000349614187, -0.5889265055, -0.3029202019, 0.000245176819,
    -0.8624849408, 1.210966446, 0.0004096638888, -0.6120320986, 0.5869755201, 0.0005655577012, -1.055467227,
    0.2020054559, 0.000306514733, 0.298215797, 0.1168126936, 0.0002476490838, 0.3776057571, -0.0141273164,
    0.0003004258734, -0.1223007797, 0.02362444154, 7.536093931e-05, 0.2825738717, -0.04078410025, 8.311868975e-05,
    0.4576683425, 0.2129370038, 9.027950478e-05, -0.02194425348, 0.2895798962, 0.0005568712421, 2.60188196,
    -0.2770521693, 1.547216257, 0.0004740541169, 0.1725941187, 0.8005323187, 0.0001904953951, 0.618067212,
    0.05924535495, 0.0001968727359, 0.4822363177, 1.028188814, 0.0003268034962, 0.4094908602, 0.2989091476,
    0.0002752884511, -0.1878226484, 0.4008097098, 0.0001449883275, 0.08904410493, -0.7672776091, 0.0003707407861,
    0.2004327511, 0.02932036207, 0.0003064938019, 0.04067463757, -0.2383768693, 3.807798408e-05, 0.1415104847,
    -0.02781034673, 3.987971692e-05, 0.1697168334, -0.08312605627, 9.842487694e-05, -0.05359379895, -0.2599555463,
    7.11668582e-05, -0.2601689493, 0.1342701893, 0.0001780835424, -0.2535772729, 0.602929559, 0.0002756586261,
    -0.09352379226, -0.3079150472, 0.0002798285745, 0.2009074313, 0.3422837821, 0.0003017558158, 0.1875148638,
    0.471960362, 0.0005419876122, -0.07146473944, -0.197651797, 3.446457202e-05, 0.1776802742, -0.04819145434,
    4.297056813e-05, -0.08717849342, 0.2692160786, 5.130807008e-05, -0.3396516242, 0.07805012099, 0.0004728673143,
    3.036782976, 2.75561368, 1.197077412, 0.0008492601908, 0.7691737295, -1.135085781, 0.0004985241292, 0.2916737854,
    -0.1946734719, 0.0001912183376, -0.05967638262, -0.09117414098, 0.0005842830351, 0.062747043, -1.395603494,
    0.0004554617245, 0.1599138237, -0.1726762046, 0.0006443406436, -0.1597762324, 0.6543447098, 0.0004697413798,
    0.7541473641, -2.126234989, 0.0008667002447, -0.03556521878, -0.210719853, 9.192120765e-05, 0.2431662735,
    0.2793346763, 5.285507073e-05, -0.1845789992, 0.3275504739, 0.000156138288, 0.3466756743, -0.4118986539,
    0.0001130169034, 0.7509568234, -0.3061207878, 0.000456845106, -0.7936224193, -1.832084201, 0.0005242637697,
    -0.3748639236, -0.2764088525, 0.0001988676116, -0.2383378272, 0.1064837189, 0.0001816618806, 0.3714715826,
    0.6759291811, 0.0003345020803, -0.2080331262, -0.2815596887, 6.254591071e-05, 0.06365845596, -0.006331809897,
    2.782173074e-05, -0.4137647167, -0.03968723183, 0.0001868343924, -0.1575937141, -0.752939904, 0.0007184100862,
    2.646121103, 0.7788192364, -0.5741445922, 0.0006612423182, -0.4656265534, 0.4750480619, 0.0003595691262,
    0.1839024329, 0.1050032832, 0.0002254567921, 1.626834473, -0.1170956518, 0.0002949438648, -0.5486910332,
    -0.507542082, 0.0006331976777, -1.027040352, -0.2142178712, 0.0003609736103, 0.4476992862, 0.3989525252,
    0.0002242258119, -0.7172558817, -0.4983433468, 0.0007775564914, -0.136597985, -0.06625828714, 5.345507312e-05,
    -0.04101180887, 0.07634789548, 4.703034724e-05, 0.006293426003, 0.2861669328, 5.264118682e-05, 0.2269449459,
    0.09688740695, 8.089610594e-05, 0.161643921, -1.691983823, 0.0002620541255, -0.1362869446, 0.2868884583,
    0.0004429481685, -0.1664340085, -0.2103851362, 0.0002505721094, -0.3203780486, -0.1247218376, 0.0003281825634,
    0.6095327106, -0.09768946934, 0.0002201639759, -0.01696276301, 0.03859908944, 3.485650204e-05, 0.01918252527,
    -0.04078609696, 4.381786435e-05, 0.1334493541, 0.3224174994, 8.214584696e-05, 0.1482455675, -0.8485948476,
    0.000605533757};
static const struct network networks[] = {
    {"gru", gru, gru_params, RG_COUNT(gru_params), gru_inputs, RG_COUNT(gru_inputs), gru_want},
    {"lstm", lstm, lstm_params, RG_COUNT(lstm_params), lstm_inputs, RG_COUNT(lstm_inputs), lstm_want},
    {"unet", unet, unet_params, RG_COUNT(unet_params), unet_inputs, RG_COUNT(unet_inputs), unet_want},
    {"resnet", resnet, resnet_params, RG_COUNT(resnet_params), resnet_inputs, RG_COUNT(resnet_inputs), resnet_want},
    {"llama", llama, llama_params, RG_COUNT(llama_params), llama_inputs, RG_COUNT(llama_inputs), llama_want},
};
/* clang-format on */
