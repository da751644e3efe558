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
static rg_tensor gpt2(rg_ctx *c, const rg_tensor *w, const rg_tensor *x) {
    (void)c;
    rg_tensor t1 = rg_embedding(x[0], w[0]);
    rg_tensor t2 = rg_add(t1, w[1]);
    rg_tensor t3 = rg_layernorm(t2, w[10], w[11]);
    rg_tensor t4 = rg_linear(t3, w[2], w[3]);
    rg_tensor t5 = rg_reshape(t4, RG_SHAPE(2, 6, 3, 2, 8));
    rg_tensor t6 = rg_permute(t5, RG_SHAPE(2, 0, 3, 1, 4));
    rg_tensor t7 = rg_select(t6, 0, 0);
    rg_tensor t8 = rg_select(t6, 0, 1);
    rg_tensor t9 = rg_select(t6, 0, 2);
    rg_tensor t10 = rg_attention(t7, t8, t9, .causal = true);
    rg_tensor t11 = rg_permute(t10, RG_SHAPE(0, 2, 1, 3));
    rg_tensor t12 = rg_reshape(t11, RG_SHAPE(2, 6, 16));
    rg_tensor t13 = rg_linear(t12, w[4], w[5]);
    rg_tensor t14 = rg_add(t2, t13);
    rg_tensor t15 = rg_layernorm(t14, w[12], w[13]);
    rg_tensor t16 = rg_linear(t15, w[6], w[7]);
    rg_tensor t17 = rg_gelu_tanh(t16);
    rg_tensor t18 = rg_linear(t17, w[8], w[9]);
    rg_tensor t19 = rg_add(t14, t18);
    rg_tensor t20 = rg_layernorm(t19, w[22], w[23]);
    rg_tensor t21 = rg_linear(t20, w[14], w[15]);
    rg_tensor t22 = rg_reshape(t21, RG_SHAPE(2, 6, 3, 2, 8));
    rg_tensor t23 = rg_permute(t22, RG_SHAPE(2, 0, 3, 1, 4));
    rg_tensor t24 = rg_select(t23, 0, 0);
    rg_tensor t25 = rg_select(t23, 0, 1);
    rg_tensor t26 = rg_select(t23, 0, 2);
    rg_tensor t27 = rg_attention(t24, t25, t26, .causal = true);
    rg_tensor t28 = rg_permute(t27, RG_SHAPE(0, 2, 1, 3));
    rg_tensor t29 = rg_reshape(t28, RG_SHAPE(2, 6, 16));
    rg_tensor t30 = rg_linear(t29, w[16], w[17]);
    rg_tensor t31 = rg_add(t19, t30);
    rg_tensor t32 = rg_layernorm(t31, w[24], w[25]);
    rg_tensor t33 = rg_linear(t32, w[18], w[19]);
    rg_tensor t34 = rg_gelu_tanh(t33);
    rg_tensor t35 = rg_linear(t34, w[20], w[21]);
    rg_tensor t36 = rg_add(t31, t35);
    rg_tensor t37 = rg_layernorm(t36, w[26], w[27]);
    rg_tensor t38 = rg_linear(t37, w[0], RG_NONE);
    rg_tensor t39 = rg_reshape(t38, RG_SHAPE(12, 13));
    rg_tensor t40 = rg_reshape(x[1], RG_SHAPE(12));
    rg_tensor t41 = rg_cross_entropy(t39, t40, .reduction = RG_MEAN);
    return t41;
}
static const struct made gpt2_params[] = {{{13, 16}, 2, .scale = 0.25}, {{6, 16}, 2, .scale = 0.25}, {{48, 16}, 2,
    .scale = 0.25}, {{48}, 1, .scale = 1}, {{16, 16}, 2, .scale = 0.25}, {{16}, 1, .scale = 1}, {{64, 16}, 2, .scale =
    0.25}, {{64}, 1, .scale = 1}, {{16, 64}, 2, .scale = 0.125}, {{16}, 1, .scale = 1}, {{16}, 1, .fill = 1}, {{16},
    1, .fill = 0}, {{16}, 1, .fill = 1}, {{16}, 1, .fill = 0}, {{48, 16}, 2, .scale = 0.25}, {{48}, 1, .scale = 1},
    {{16, 16}, 2, .scale = 0.25}, {{16}, 1, .scale = 1}, {{64, 16}, 2, .scale = 0.25}, {{64}, 1, .scale = 1}, {{16,
    64}, 2, .scale = 0.125}, {{16}, 1, .scale = 1}, {{16}, 1, .fill = 1}, {{16}, 1, .fill = 0}, {{16}, 1, .fill = 1},
    {{16}, 1, .fill = 0}, {{16}, 1, .fill = 1}, {{16}, 1, .fill = 0}};
static const struct made gpt2_inputs[] = {{{2, 6}, 2, .classes = 13}, {{2, 6}, 2, .classes = 13}};
static const double gpt2_want[] = {2.873740782, 0.6728121317, 0.231044417, 0.0004231837333, 0.2424476445,
    0.08104477517, 7.430137318e-05, 0.03538944236, -0.283481858, 0.0002510826335, 0.09740859823, 0.1046791848,
    4.055395047e-05, -0.01570705787, -0.438812795, 0.0002165240414, -0.01419575586, -0.07710431197, 2.264305832e-05,
    -0.06341976734, 0.05052482887, 0.0002681541914, -0.06494033275, -0.04120037906, 3.669939095e-05, 0.005924343686,
    0.1106783714, 0.0005973891527, 0.01299443181, 0.01567487339, 2.307080153e-05, 0.01073064087, -0.04011827464,
    2.52692215e-05, 0.01524008776, 0.006891698311, 1.234482978e-05, -0.1278963007, 0.1524245762, 4.960637381e-05,
    -0.04578924195, -0.1403121192, 2.997924646e-05, -0.006670901289, 0.0324238436, 0.0001836437314, -0.02226151868,
    -0.0796532968, 2.598005633e-05, 0.02647368586, 0.06268936787, 0.0002763224352, 0.02234556713, -0.006891833065,
    2.406462123e-05, -0.102755907, -0.1152854921, 0.000237631539, 0.0185726195, 0.02125456723, 2.353550649e-05,
    -0.0443010333, 0.6499319585, 0.000603453335, 0.01161209377, -0.002137725587, 2.536713698e-05, -0.01615569187,
    -0.04856848457, 2.118373843e-05, -0.01572013628, 0.03764672692, 1.562634504e-05, -0.02390185676, -0.007894954453,
    1.742207576e-05, 0.007669805711, -0.009173916127, 7.809125588e-06, 0.2198368436, 0.03656060399, 7.299926469e-05,
    0.1767917883, -0.05751878913, 8.611597404e-05, 3.296134135, -1.443458239, 0.02024478346, 0.0007096555513,
    0.2646967765, -0.2363360375, 0.0001173032699, -0.325679758, 0.0563361988, 0.0002871973233, 0.04702733419,
    -0.1734476168, 5.216673061e-05, 0.4164532084, 0.8600613775, 0.0002563016458, 0.0387242485, 0.2069503041,
    3.252162353e-05, 0.03185414319, -0.08256680087, 0.0001769888854, 0.08300582546, 0.02415706524, 2.345605504e-05,
    -0.4927752383, 1.050437274, 0.0006105393963, 0.01414173938, 0.1137575598, 2.805805618e-05, 0.08031105445,
    -0.06043466507, 3.061678062e-05, -0.01892698248, -0.06115441243, 4.817374784e-05, 0.1398461377, -0.1181795109,
    3.370123719e-05, 0.0325586623, 0.1173168553, 1.893756002e-05, 0.1976529064, -0.2051637305, 0.0002672258404,
    -5.846503153e-05, 0.1094156968, 3.92569785e-05, 0.02693815526, 0.08464569001, 0.000240140286, 0.0006673021666,
    0.09747169166, 2.253298692e-05, 0.1120136519, 0.09618167317, 0.0003221960214, 0.0001098262462, 0.04745058277,
    3.279818528e-05, -0.08885687681, -0.1669671119, 0.0004359046488, -0.01840026013, 0.07389114957, 2.119572169e-05,
    0.08982513835, -0.02920678429, 2.842941649e-05, 0.03202832889, 0.02822421135, 1.566642851e-05, -0.07125687429,
    0.01862423146, 5.19073112e-05, 0.02743301294, 0.04088876631, 2.061743891e-05, -0.1054712773, 0.5027870755,
    0.0001826779946, 0.1137470193, 0.1159820587, 0.0001001547505, 2.883671341, -0.9417858312, 0.09629517413,
    0.0005687862574, 0.128172934, -0.2879298932, 0.0001130239388, -0.4389362238, -0.7795116815, 0.0006076376569,
    -0.09349743286, -0.3276287315, 9.322658307e-05, -0.05926977121, -1.228187153, 0.0005333962555, 0.1527666446,
    -0.1509034096, 4.856853701e-05, 0.2026485807, -0.1512096326, 0.0003473352997, -0.1299694554, 0.2414013222,
    5.240071703e-05, 1.106494382, 2.108827695, 0.001318156908, 0.2591179812, -0.04551840231, 4.764397332e-05,
    0.004459651272, -0.09370228947, 2.486225747e-05, 0.07214396939, 0.02695489408, 4.63700116e-05, -0.1525372813,
    0.1280203476, 4.439512819e-05, -0.1653311456, -0.1272134065, 4.588286215e-05, 0.2863999505, -0.3386191932,
    0.0007112657056, 0.1134358854, -0.06165209868, 0.0001034011431, 0.0333721472, -0.05557935255, 0.0005774099164,
    0.2105431698, -0.07775943669, 4.563903526e-05, 0.04281612324, -0.05982969624, 0.0002638778019, 0.07176084961,
    -0.07889085785, 3.226773481e-05, 0.7593392754, 2.177829127, 0.001053925717, 0.1724534154, -0.08007032262,
    4.583479702e-05, -0.00749618646, 0.006236962927, 4.676784676e-05, 0.1054556249, 0.08587630284, 3.791441799e-05,
    0.03820983688, -0.04443586373, 2.053863145e-05, 0.05960072708, -0.009513480059, 2.637445202e-05, 0.8515763898,
    -0.08989688545, 0.0001336778707, 0.5404481462, -0.2260146848, 0.0001291930851, 3.02245388, 0.7663768352,
    1.320938095, 0.0005375935026, 0.2193250737, -0.1125429386, 0.0001642549182, 0.1891545585, 0.1428933502,
    0.000217445498, 0.1048884791, -0.03306045729, 3.424881893e-05, 0.1711340661, 0.2113675798, 0.0003117433908,
    0.01225379973, 0.09822236801, 2.868348743e-05, -0.04765369778, 0.03992138817, 0.0002448758209, 0.0386022905,
    -0.1078644197, 3.444298698e-05, -0.7135010847, -0.5213335359, 0.0005343210323, -0.06455574471, 0.04005867113,
    2.310023412e-05, -0.01439924248, -0.01000246035, 1.234299065e-05, 0.008225505622, -0.01864595921, 1.622349225e-05,
    0.09124370045, -0.0532117374, 2.067732323e-05, 0.1109768655, 0.07704959257, 1.954495738e-05, -0.3632010511,
    -0.09315931922, 0.0003714770244, -0.1592182073, 0.0688756218, 4.652129593e-05, 0.01336601532, -0.03943646649,
    0.0002695078857, -0.04552408644, 0.06394739457, 2.225793439e-05, -0.03161067407, -0.04427842576, 0.0001323288035,
    -0.01472288682, 0.06145273627, 1.853646114e-05, -0.2298563288, -1.995850026, 0.0006269226802, -0.03958244648,
    0.06591964691, 2.50386722e-05, -0.07755188807, -0.01215839061, 2.905500682e-05, -0.05831636303, -0.05646124293,
    2.984323496e-05, -0.07693235484, 0.0194077974, 1.624084647e-05, -0.01654592424, -0.005253509483, 7.775521483e-06,
    -0.553260792, 0.2003867507, 8.963896458e-05, -0.0217463936, 0.1234457814, 6.34167532e-05, 3.033473682,
    0.7853498321, 0.3073688848, 0.0005015036928, -0.09324366053, -0.04305533849, 0.000103221899, 0.1057525165,
    0.5158845746, 0.0002962682639, 0.197995882, 0.1838772739, 5.100215088e-05, 0.257811143, 0.7722957147,
    0.00034942949, -0.2453070865, 0.1070578567, 3.107784872e-05, 0.001307737047, 0.07238278145, 0.0002980031554,
    0.02169207736, -0.1299864082, 3.844571649e-05, -1.274542536, -0.06048807413, 0.000727802118, -0.2608078179,
    0.06366320616, 2.623719287e-05, 0.0323577333, 0.01446251251, 3.171476409e-05, -0.09564569769, -0.1115164371,
    2.431513278e-05, 0.00376438015, -0.02775013084, 2.434044823e-05, 0.02152326855, 0.04128890778, 1.666724779e-05,
    0.02417401795, 0.3316525992, 0.0004234250746, 0.04540995332, -0.0202097583, 4.956037742e-05, -0.02681413111,
    -0.04337641507, 0.000428713044, -0.2619364401, 0.06498604012, 3.276914423e-05, -0.02341468907, 0.04372000749,
    0.0002369166515, 0.03128991254, 0.0479215465, 3.326072061e-05, -0.348912499, 1.22029092, 0.0008399525721,
    -0.270615701, 0.04434957848, 3.272774437e-05, 0.02137624381, -0.03447650332, 2.447549175e-05, 0.001438563754,
    -0.003110603218, 1.741543057e-05, -0.04496260417, 0.08088507773, 2.189089859e-05, 0.01236874748, 0.04791726949,
    1.533591313e-05, -0.2307740306, 0.1178127645, 9.412994487e-05, -0.7243699883, 0.003374189754, 9.39482579e-05,
    2.857866142, -0.09610443664, -0.0002726172431, 0.000548923989, 0.1960919615, 0.08288526544, 0.0001676464324,
    -0.9552742202, -0.4715797353, 0.0003178830087, -0.006214113921, -0.2867206926, 5.015229538e-05, -0.1464159759,
    -0.342663549, 0.0002422000778, 0.2007158322, 0.00784728863, 2.761396674e-05, 0.06601668756, -0.07315231082,
    0.000344291281, 0.0306978912, 0.1174715285, 3.416544157e-05, 0.3803838282, 0.6944421363, 0.0006847870256,
    0.2205240751, -0.002727677486, 2.582519784e-05, -0.0337719459, -0.005491600762, 1.936071159e-05, 0.09068478365,
    0.0486157875, 2.976287169e-05, -0.05183423855, -0.09923424879, 1.872019814e-05, -0.03225657726, 0.05722232176,
    1.731393768e-05, 0.1523981243, -0.110012043, 0.0005181268716, -0.06042367669, 0.04559977392, 6.619926203e-05,
    -0.04339590574, -0.01633441923, 0.0003390790889, 0.2115085237, -0.005642278072, 2.893401716e-05, 0.04245417198,
    0.05006675211, 0.0001424531499, 0.001509253305, -0.01029724016, 1.859109508e-05, 0.2406351676, -0.2997780109,
    0.0007140578477, 0.1932156176, -0.01381543875, 2.970633715e-05, -0.01434041855, -0.0420418188, 2.237383468e-05,
    0.01767092593, 0.01540400565, 2.086235956e-05, 0.04582403796, -0.026850594, 1.466762862e-05, 0.01708375167,
    0.01721529527, 1.518205508e-05, 0.2880009452, -0.05667476665, 0.0001139562788, 0.6315186075, -0.08037764714,
    9.217904334e-05, 3.10392102, -0.5515804874, 0.477712737, 0.0003787314949, -0.02113207206, -0.007116746801,
    7.189482652e-05, 0.1319432194, -0.05460344847, 0.0002371327982, 0.1405826879, 0.1237004741, 3.598528021e-05,
    0.1283028285, -0.003991902202, 0.0002697039359, -0.1354569641, 0.03500978983, 2.380211932e-05, 0.05838952003,
    0.3312829459, 0.0001997184548, -0.05554475588, -0.1415550707, 2.698080025e-05, -0.814258914, -0.2442337681,
    0.0007175103224, -0.2017392196, 0.06153861874, 2.743736972e-05, 0.06241612428, 0.04726328535, 2.715947139e-05,
    0.003119091143, -0.0236058539, 1.478990549e-05, -0.05675847579, 0.1191966015, 3.259289231e-05, 0.07107515127,
    -0.07000469256, 1.919815783e-05, -0.06431487514, 0.07706540271, 0.0003053537886, 0.009135042183, -0.04217479989,
    3.694567382e-05, 0.08873503152, -0.1083934049, 0.0003753175702, -0.1836219621, 0.05024275953, 2.64534891e-05,
    -0.01851680017, -0.05411473367, 0.0002598550989, 0.0528932699, 0.06707392805, 2.86277732e-05, -0.247208149,
    0.3910576535, 0.0007006949566, -0.1911165747, 0.03225783319, 2.553320659e-05, 0.008631646744, -0.06215770905,
    1.646562394e-05, -0.03014252222, 0.01524306213, 1.783057237e-05, -0.02984046446, 0.04263480688, 1.633684567e-05,
    0.007713292697, 0.03991811103, 9.081639111e-06, 0.0005650343548, 0.354054511, 7.219107754e-05, -0.5254129566,
    -0.01899181723, 7.830579628e-05, 2.724205156, -1.444597016, 0.5075719073, 0.0007487920798, 0.2515259414,
    0.07477235409, 9.471204596e-05, -0.1775963193, -0.0004253835671, 0.0001848868669, -0.06236619599, -0.06641427746,
    2.336208332e-05, -0.2710934654, 0.3431726308, 0.0001733151268, -0.02234865741, 0.04724112183, 1.488942933e-05,
    -0.04919566814, -0.02589553793, 0.0001081228248, -0.01375434685, 0.01051077461, 1.461633657e-05, 0.2510290885,
    0.2150216945, 0.0004362360802, -0.008864980419, 0.06616457661, 1.876386415e-05, -0.05276528699, -0.05502908534,
    1.655554967e-05, -0.02074736925, 0.009033561177, 1.2721186e-05, -0.0535166974, 0.0560282907, 1.144739643e-05,
    -0.02040337562, -0.02663712298, 7.766648138e-06, -0.04653447998, -0.1880082975, 0.000184741975, 0.02498654873,
    0.03878577367, 2.372354264e-05, 0.01894281992, 0.003888171895, 0.0002375995248, 0.001321452767, 0.05217289299,
    1.830921743e-05, 0.06574752749, -0.09450224802, 0.0001661784123, 0.02075485945, 0.03128538731, 1.994974344e-05,
    0.2145689577, 0.5669111991, 0.0004810991157, -0.02339423869, 0.03411435473, 2.033049217e-05, 0.01652356569,
    -0.002468295028, 7.275029167e-06, -0.02113402428, 0.03041756076, 1.169317923e-05, -0.04770948887, -0.04485096944,
    1.859884029e-05, 0.03162116179, 0.05372150375, 1.421288055e-05, 0.1072006166, 0.3715246479, 6.57072071e-05,
    -0.02802778212, 0.08069692645, 6.261440263e-05, 2.462023222, 0.08972115128, -1.035612952, 0.0002505815807,
    -0.009026003123, -0.2736019173, 7.785029374e-05, 0.03814532614, 0.1017742007, 0.0001615639482, -0.1173860287,
    -0.0175365323, 1.560918602e-05, 0.1206509324, 0.04861538891, 0.0001511372654, -0.03602798991, 0.005216418164,
    1.239980725e-05, -0.008431784531, -0.1329600965, 7.130057837e-05, 0.003528228494, 0.04517460137, 8.144985954e-06,
    0.3339601498, 0.432951584, 0.0002095918038, -0.01817560503, -0.004341514631, 7.456414784e-06, -0.0170975233,
    0.043862897, 1.443969229e-05, -0.04934149207, -0.01027598765, 1.046458123e-05, -0.006710101855, -0.011401776,
    8.694334402e-06, -0.01663026408, 0.01307913878, 4.995721858e-06, 0.006393425285, 0.03895554778, 0.0001710891782,
    0.06294048776, 0.001141146513, 2.171840565e-05, -0.02659093378, 0.03763753576, 0.000139022312, -0.02295689267,
    -0.009563632002, 9.501137266e-06, 0.03813338723, -0.01709060401, 9.236244933e-05, 0.001030530756, -0.02092356999,
    9.187860097e-06, -0.02285306077, 0.6648555912, 0.0002796213683, -0.01937518807, -0.01256375428, 1.045633862e-05,
    0.05428216791, -0.004975074728, 1.281942254e-05, 0.006904164185, 0.0159915355, 1.194729926e-05, 0.01618093925,
    0.02422554157, 4.071147715e-06, -0.01303040624, 0.002743335568, 4.877565044e-06, 0.2827197866, 0.01089382407,
    6.878016864e-05, -0.07491404095, -0.02507899514, 3.440157997e-05, 2.690580837, -0.3508355619, 0.755033449,
    0.0004669570626, 0.03423036037, -0.2477206662, 0.0002237943248, 0.5036973427, -1.046613977, 0.0002861240471,
    -0.05456669472, -0.2037347748, 4.072750662e-05, -0.05833649617, 0.2899081022, 0.0003240635339, 0.0391923244,
    0.1591245082, 3.300440068e-05, -0.0124600261, 0.004223323286, 0.0001856637524, 0.05438504951, 0.04142256824,
    2.155945468e-05, -0.1288985, 0.8605582348, 0.0005466496923, 0.03880982207, 0.06448653876, 2.043731634e-05,
    0.05530583851, -0.1210567174, 2.699755981e-05, 0.01307359179, -0.03936617912, 3.078544573e-05, 0.02477812302,
    -0.09070208322, 8.968597104e-06, -0.008151983142, 0.1135803598, 1.764052643e-05, -0.07167407075, 0.01976415067,
    0.0001855454552, -0.01027619691, 0.09668362402, 2.290037983e-05, -0.03954749373, 0.06545439537, 0.0001932296409,
    0.0262486399, 0.05651632748, 1.756066649e-05, 0.08238728721, 0.03276481424, 0.0002273752437, -0.01197766871,
    0.01449105121, 2.63490861e-05, 0.04448752621, 0.2344256757, 0.0004531513159, 0.00418554394, 0.03090456631,
    1.845934559e-05, 0.03496172035, 0.02320802212, 1.992739584e-05, 0.0217795735, 0.02707020627, 1.516993538e-05,
    -0.05880134221, -0.01844540152, 3.558714744e-05, 0.0222453106, 0.04566601419, 1.491391863e-05, 0.01025879325,
    0.1028167843, 7.041820557e-05, 0.07401392767, 0.04320513153, 6.004076485e-05};
static rg_tensor bert(rg_ctx *c, const rg_tensor *w, const rg_tensor *x) {
    (void)c;
    rg_tensor t1 = rg_embedding(x[0], w[0]);
    rg_tensor t2 = rg_add(t1, w[1]);
    rg_tensor t3 = rg_narrow(w[2], 0, 0, 1);
    rg_tensor t4 = rg_add(t2, t3);
    rg_tensor t5 = rg_layernorm(t4, w[27], w[28]);
    rg_tensor t6 = rg_linear(t5, w[3], w[4]);
    rg_tensor t7 = rg_reshape(t6, RG_SHAPE(2, 6, 3, 2, 8));
    rg_tensor t8 = rg_permute(t7, RG_SHAPE(2, 0, 3, 1, 4));
    rg_tensor t9 = rg_select(t8, 0, 0);
    rg_tensor t10 = rg_select(t8, 0, 1);
    rg_tensor t11 = rg_select(t8, 0, 2);
    rg_tensor t12 = rg_attention(t9, t10, t11, .causal = false);
    rg_tensor t13 = rg_permute(t12, RG_SHAPE(0, 2, 1, 3));
    rg_tensor t14 = rg_reshape(t13, RG_SHAPE(2, 6, 16));
    rg_tensor t15 = rg_linear(t14, w[5], w[6]);
    rg_tensor t16 = rg_add(t5, t15);
    rg_tensor t17 = rg_layernorm(t16, w[11], w[12]);
    rg_tensor t18 = rg_linear(t17, w[7], w[8]);
    rg_tensor t19 = rg_gelu(t18);
    rg_tensor t20 = rg_linear(t19, w[9], w[10]);
    rg_tensor t21 = rg_add(t17, t20);
    rg_tensor t22 = rg_layernorm(t21, w[13], w[14]);
    rg_tensor t23 = rg_linear(t22, w[15], w[16]);
    rg_tensor t24 = rg_reshape(t23, RG_SHAPE(2, 6, 3, 2, 8));
    rg_tensor t25 = rg_permute(t24, RG_SHAPE(2, 0, 3, 1, 4));
    rg_tensor t26 = rg_select(t25, 0, 0);
    rg_tensor t27 = rg_select(t25, 0, 1);
    rg_tensor t28 = rg_select(t25, 0, 2);
    rg_tensor t29 = rg_attention(t26, t27, t28, .causal = false);
    rg_tensor t30 = rg_permute(t29, RG_SHAPE(0, 2, 1, 3));
    rg_tensor t31 = rg_reshape(t30, RG_SHAPE(2, 6, 16));
    rg_tensor t32 = rg_linear(t31, w[17], w[18]);
    rg_tensor t33 = rg_add(t22, t32);
    rg_tensor t34 = rg_layernorm(t33, w[23], w[24]);
    rg_tensor t35 = rg_linear(t34, w[19], w[20]);
    rg_tensor t36 = rg_gelu(t35);
    rg_tensor t37 = rg_linear(t36, w[21], w[22]);
    rg_tensor t38 = rg_add(t34, t37);
    rg_tensor t39 = rg_layernorm(t38, w[25], w[26]);
    rg_tensor t40 = rg_linear(t39, w[0], RG_NONE);
    rg_tensor t41 = rg_reshape(t40, RG_SHAPE(12, 13));
    rg_tensor t42 = rg_reshape(x[1], RG_SHAPE(12));
    rg_tensor t43 = rg_cross_entropy(t41, t42, .reduction = RG_MEAN);
    return t43;
}
static const struct made bert_params[] = {{{13, 16}, 2, .scale = 0.25}, {{6, 16}, 2, .scale = 0.25}, {{2, 16}, 2,
    .scale = 0.25}, {{48, 16}, 2, .scale = 0.25}, {{48}, 1, .scale = 1}, {{16, 16}, 2, .scale = 0.25}, {{16}, 1,
    .scale = 1}, {{64, 16}, 2, .scale = 0.25}, {{64}, 1, .scale = 1}, {{16, 64}, 2, .scale = 0.125}, {{16}, 1, .scale
    = 1}, {{16}, 1, .fill = 1}, {{16}, 1, .fill = 0}, {{16}, 1, .fill = 1}, {{16}, 1, .fill = 0}, {{48, 16}, 2, .scale
    = 0.25}, {{48}, 1, .scale = 1}, {{16, 16}, 2, .scale = 0.25}, {{16}, 1, .scale = 1}, {{64, 16}, 2, .scale = 0.25},
    {{64}, 1, .scale = 1}, {{16, 64}, 2, .scale = 0.125}, {{16}, 1, .scale = 1}, {{16}, 1, .fill = 1}, {{16}, 1, .fill
    = 0}, {{16}, 1, .fill = 1}, {{16}, 1, .fill = 0}, {{16}, 1, .fill = 1}, {{16}, 1, .fill = 0}};
static const struct made bert_inputs[] = {{{2, 6}, 2, .classes = 13}, {{2, 6}, 2, .classes = 13}};
static const double bert_want[] = {2.988072574, -0.2447305754, -0.7527733875, 0.0009981674629, 0.5212702167,
    0.3553635079, 0.0001503790371, 0.6153678593, 0.5774523618, 0.0002445999699, -0.09326315599, -0.1409931423,
    0.0003252760469, 0.2503116724, 0.0269925619, 5.369829581e-05, 0.1952305605, -0.0429657326, 0.0002518875297,
    0.1077072224, -0.04029753209, 2.692146399e-05, 0.2955150788, -0.3133101439, 0.0002018258617, -0.07981428482,
    0.04293424762, 2.876503618e-05, -0.2757243972, -0.2038164748, 0.0007416818592, 0.09727491007, -0.03143648125,
    3.019602735e-05, -0.1518899621, -0.1549565916, 4.79632701e-05, 0.1914415714, -0.0356076741, 4.201088733e-05,
    -0.2441422472, 0.04534195627, 3.292955496e-05, 0.1531408343, -0.03903173637, 5.338457102e-05, 0.7171193344,
    0.05212235701, 0.0004438568983, -0.05124766968, 0.09919937745, 6.279292101e-05, -0.01967036202, 0.107376105,
    0.0003899195492, 0.2100518532, 0.01436438435, 3.151441985e-05, -0.1419799074, 0.0276012742, 0.0003230227177,
    0.08541134585, -0.05960447331, 4.931512264e-05, -0.1663218784, 0.2151058897, 0.001085859827, 0.2445317518,
    0.02228577691, 4.60534569e-05, 0.02459481508, 0.09826549599, 3.492715941e-05, 0.2738786502, 0.009175216675,
    4.135744362e-05, 0.07685255344, 0.09369050764, 7.413440827e-05, 0.423982999, 0.1287253766, 0.0001024524131,
    0.08176153595, -0.1949186125, 3.955411605e-05, 0.1563989049, 0.1710241967, 5.630068116e-05, 2.978725749,
    -1.042426145, -0.1391543785, 0.0006549893494, 0.2549075082, 0.09647653743, 9.782527116e-05, 0.4074357308,
    0.1105089347, 0.000144220716, -0.3212564653, -0.1095389284, 0.0002963069303, 0.1562675522, -0.1152097523,
    5.476367533e-05, 0.2854227131, 0.2015311897, 0.0002965121768, 0.1105312987, -0.1264674636, 2.978109889e-05,
    -0.1430332984, 0.006760289662, 0.0001253633038, 0.01453582299, -0.003333411342, 1.953789555e-05, 0.02540449143,
    0.3443867903, 0.0005285403803, 0.05790638235, -0.03123136337, 2.699875136e-05, -0.1075956824, -0.02448427475,
    3.35834512e-05, 0.1389499333, -0.1359942079, 3.996832673e-05, -0.1114247242, -0.03671176058, 2.782777411e-05,
    0.07113529737, -0.04832807654, 4.82684841e-05, 0.1150216841, -0.1603082689, 0.0002600466696, -0.1168560793,
    -0.08529055569, 4.051724533e-05, -0.1457223244, -0.2138388632, 0.0004230691023, 0.06633283322, -0.06243901889,
    2.902592878e-05, -0.2429256749, 0.03161052467, 0.000302101985, -0.07915010083, 0.008040268597, 3.867015286e-05,
    0.4319610298, -0.7554286484, 0.0007715451302, 0.04193884599, -0.05541822916, 3.73542408e-05, -0.04836192142,
    0.09040993476, 2.544574612e-05, 0.08260573433, -0.07054660076, 4.330039633e-05, 0.1538449051, -0.01488949037,
    9.098571012e-05, 0.03743547294, -0.01268558089, 8.985072245e-05, -0.02979343467, -0.08380964757, 2.978474167e-05,
    0.1407215509, 0.02330652432, 3.47882938e-05, 2.640991385, 0.0004267839606, 0.8835370003, 0.0005807869785,
    -0.3980142035, -0.2239667148, 9.739575906e-05, -0.06713429726, 0.01515935242, 0.0001082553644, 0.0485764521,
    0.03082140597, 0.000152834336, 0.1092429872, -0.0278857282, 3.849855812e-05, 0.2367449205, 0.1801582361,
    0.0001696939269, -0.0115329666, -0.04094558593, 1.890377946e-05, 0.2415523452, -0.01667042758, 0.0001262140627,
    -0.01545692753, 0.08010914462, 1.833276868e-05, 0.5777681434, -0.06342402808, 0.0004334662712, 0.07660324226,
    -0.01481458807, 2.13667002e-05, -0.08517527967, 0.03365029475, 2.917157105e-05, 0.04859638776, -0.01958521246,
    2.479117585e-05, -0.1527181297, 0.05599524618, 3.431552813e-05, 0.117401056, -0.02796105289, 3.413852696e-05,
    -0.2330166542, -0.1408366561, 0.0003497841879, -0.08939890629, -0.06497560677, 4.451659288e-05, 0.1865533824,
    0.1341066347, 0.0003307074202, 0.1312573836, 0.03792170964, 2.581503685e-05, -0.06872666862, 0.09831385827,
    0.0004655520325, -0.02663649645, -0.03242352844, 3.955539969e-05, 0.5491804765, -0.01531520999, 0.0007768182641,
    0.1540220193, -0.02813405042, 3.609775824e-05, -0.001470950232, 0.01695253579, 4.587026283e-05, 0.1821070899,
    0.07104311629, 3.827118049e-05, 0.1900072491, -0.351083409, 0.0001353079678, 0.245962802, -0.0277997195,
    8.096575716e-05, -0.04124796567, -0.09439419582, 2.289097717e-05, 0.01644307554, 0.04193129254, 3.122718817e-05,
    2.762025994, 0.07874564274, 0.5381527353, 0.0004060161523, 0.04799499004, 0.3178550833, 6.906465832e-05,
    -0.1244343049, 0.2239444026, 6.639854292e-05, -0.02534810997, -0.04867259183, 0.0001929594081, 0.01063320219,
    0.02885878004, 2.75748268e-05, -0.4888940589, -0.4023877864, 0.000140076735, -0.00991657059, 0.112661572,
    1.455729588e-05, -0.3030896753, -0.04283593817, 0.0001728446557, -0.01356192008, -0.01872475596, 1.722667783e-05,
    -0.2105567424, -0.1890027723, 0.0003303754603, -0.1060227878, 0.05812502304, 1.701241697e-05, -0.1573789276,
    -0.008483446647, 2.534873163e-05, -0.05383727346, 0.1153155769, 2.117485651e-05, -0.2196506933, -0.001829719039,
    2.587362059e-05, -0.1293434987, 0.09764403598, 2.067674026e-05, 0.06095122444, -0.110141146, 0.0002260442009,
    -0.006981158824, 0.004565787474, 3.579731589e-05, 0.2872093709, 0.09209542317, 0.0003210757503, -0.1042537294,
    0.009265320452, 2.475616821e-05, 0.04917988165, 0.1114348186, 0.0002606767514, 0.1329329095, 0.004021813227,
    2.327237581e-05, 0.7177661381, -0.6406471983, 0.0004606153661, -0.1244401976, -0.06113592168, 2.413065981e-05,
    -0.1180210787, 0.1086957069, 3.229535445e-05, -0.1156179608, -0.003038387797, 3.109981358e-05, -0.136297332,
    -0.08113696329, 0.0001032146546, -0.3035955666, -0.06142650321, 5.055177057e-05, 0.05581525648, 0.01752809435,
    1.999982326e-05, -0.1066315291, 0.08105991185, 2.043441331e-05, 2.585497307, -0.5123420045, 0.8547299068,
    0.0003794679956, -0.2244772119, -0.1348196372, 5.33046576e-05, -0.2222642811, -0.2319362168, 8.581292403e-05,
    0.2399870411, 0.136456717, 0.0001712076173, -0.08663256037, 0.03479543126, 2.714804652e-05, -0.1179451025,
    -0.09189363694, 0.0001636642053, -0.08380712972, -0.005409412977, 1.765362831e-05, -0.3445485318, 0.1195711395,
    0.0001107032446, -0.02804067876, -0.04345236655, 1.870906727e-05, -0.1979862944, 0.1487387993, 0.0003512320521,
    -0.1377465017, -0.00723979965, 1.998103727e-05, -0.03972917876, 0.06377426533, 3.227632368e-05, -0.1445099905,
    -0.008894981157, 2.451747651e-05, -0.01657205799, -0.1252780215, 2.316505014e-05, -0.1938783951, 0.02040453505,
    2.989870124e-05, 0.3321426137, -0.05540507818, 0.0002566310571, -0.05297159461, 0.03523983987, 3.726109733e-05,
    -0.07195186204, -0.1476551586, 0.0002595470627, -0.1723628081, -0.0268016212, 2.088165485e-05, 0.1630837892,
    0.4157080955, 0.0001466046801, 0.09060581537, 0.06099342431, 1.52511242e-05, 0.0638013449, -0.08690156877,
    0.0004292225593, -0.1368280844, -0.04994376619, 1.740443136e-05, 0.1341569321, 0.03930995916, 3.720298169e-05,
    -0.2167553734, -0.04043780205, 2.715783898e-05, 0.09606867876, 0.004308177221, 2.450175714e-05, -0.304082212,
    -0.06559373255, 3.510677227e-05, 0.1011326586, 0.05475656489, 2.215617781e-05, -0.09645092716, -0.07337720962,
    2.404358833e-05, 3.185076208, 0.3776829659, 2.518455248, 0.0007954649316, -0.009705691138, -0.1775670278,
    0.0001266128496, -0.03158246068, -0.1982406445, 0.0001754910793, -0.553069569, -0.2642946156, 0.0004416807995,
    0.2516025551, -0.09273338587, 5.773660456e-05, 0.01064664687, -0.06830479154, 0.00026462834, 0.08384408142,
    -0.05586658917, 2.827151272e-05, 0.3510056806, 0.3148379631, 0.000273086021, 0.009588710152, -0.05467397038,
    4.528438534e-05, 1.183243421, 0.1707845284, 0.0005387439698, -0.06184799802, 0.04019765222, 2.971094653e-05,
    -0.04313980391, 0.1680932357, 6.549698713e-05, 0.06658067731, -0.09402538049, 3.440818946e-05, -0.2829662534,
    -0.1726605712, 5.950452216e-05, -0.06254733399, 0.0529391623, 4.016543401e-05, -0.06739635941, -0.1529105536,
    0.0003655702095, -0.1368013916, -0.08404801784, 6.074060187e-05, 0.5160608977, -0.04043858491, 0.0004719606862,
    -0.04195936873, 0.02303721761, 3.889579975e-05, 0.07146076383, 0.336949645, 0.0003551789871, 0.1068760103,
    0.01959958143, 3.966612855e-05, 1.050809913, 0.222261927, 0.0006944295887, 0.0129103387, -0.07397517311,
    3.860003963e-05, 0.1891068202, 0.1957355618, 5.0923908e-05, -0.06713708793, 0.02596640219, 5.789949549e-05,
    0.1816014707, -0.004832854023, 0.0001575339168, -0.03601272116, -0.08196948294, 0.0001042109469, 0.2103527404,
    0.1193657883, 6.599278401e-05, -0.05755117839, -0.01599292751, 5.88332616e-05, 2.574837272, 0.1331750394,
    -1.078238813, 0.0004903443317, 0.2924091127, 0.0350738664, 7.163594865e-05, 0.09661934167, 0.1582380227,
    9.456427041e-05, -0.04893384822, -0.1521975789, 0.000125231594, 0.04179438136, -0.002000550829, 1.386011608e-05,
    0.2849066129, 0.0918706128, 0.000187710454, 0.08766184486, -0.03655644537, 1.839636328e-05, 0.2263744884,
    -0.2858895692, 0.0001199040677, -0.01332533285, 0.05463706151, 1.347683815e-05, 0.05721728985, 0.02675225036,
    0.0002906988492, 0.09385068157, -0.05667026538, 1.564403908e-05, -0.03279972884, -0.07327520713, 1.358391404e-05,
    0.09963565217, -0.04071394189, 2.329172526e-05, -0.04640225543, 0.0445156228, 1.735377735e-05, 0.1394679413,
    -0.09559279571, 2.451074644e-05, -0.09045852409, 0.02283600653, 0.0003103069115, -0.05365382892, 0.03967641922,
    4.190318651e-05, -0.4081355145, 0.01545104164, 0.0003804355749, 0.1013810322, 0.01093460138, 2.642869413e-05,
    0.008657996525, -0.2061009481, 0.0004013383656, -0.1487578133, -0.0006549661732, 4.000404941e-05, -0.3953722033,
    0.4780411622, 0.0007223513547, 0.1050384778, 0.1115336354, 3.098865719e-05, -0.05040737204, -0.084121375,
    3.010238369e-05, 0.1304354705, 0.03027250036, 4.220535977e-05, 0.1469338032, 0.1572804482, 5.960569761e-05,
    0.1856641031, 0.2348681986, 6.226167236e-05, -0.1066047438, -0.08857442345, 1.610245728e-05, 0.1100033112,
    0.008400528986, 2.439098445e-05, 2.789449524, 0.2499374603, 1.315420634, 0.0005817410378, 0.04780577891,
    0.04897538266, 7.202097015e-05, 0.002637936111, 0.08256001274, 5.766662858e-05, -0.00784399283, 0.3721402338,
    9.444189974e-05, 0.03921097195, 0.01172226418, 2.093773696e-05, 0.0434024522, -0.008689990476, 0.0001013212663,
    -0.02676021795, 0.04747975906, 1.196928128e-05, 0.0821968524, -0.1188585207, 0.0001667778965, 0.05400251133,
    -0.042406648, 2.518533589e-05, -0.1225839186, 0.003104235802, 0.0003529307712, -0.1321363605, 0.06860190051,
    1.826278957e-05, 0.04367044216, -0.02137922759, 1.657364564e-05, -0.08533679219, 0.06928840488, 1.731715435e-05,
    -0.04660087767, -0.1558631573, 2.30177286e-05, -0.1900508331, 0.0970261407, 2.958513623e-05, 0.1149722943,
    -0.1579637986, 0.0002445708444, 0.0006632406472, -0.05093489125, 3.093550876e-05, 0.3236093947, 0.4176601049,
    0.0004119359528, -0.1516441229, 0.08417417306, 3.129500179e-05, 0.03528398121, 0.2964189165, 0.0003621976287,
    0.1251901207, 0.07553293499, 3.252618862e-05, 0.4152631325, 0.2446706812, 0.0008763453646, -0.1217931299,
    0.02567904564, 3.885837591e-05, 0.08675564479, 0.1290686285, 2.722703546e-05, -0.2316491022, 0.1326342695,
    5.070364735e-05, -0.0302824583, 0.01295845699, 8.734453648e-05, -0.2924199536, 0.09493071077, 7.235231678e-05,
    0.1403181857, -0.0462716473, 1.661157461e-05, -0.005992551181, 0.05052025585, 1.380257922e-05, 2.584720145,
    -1.031608161, 0.3068438817, 0.0003669776844, 0.2460582101, -0.03974664664, 8.289333135e-05, -0.04386195895,
    -0.150251279, 0.0001036874452, 0.3818433953, -0.03387675424, 0.0001801474932, -0.003032447242, 0.01911028874,
    2.946116834e-05, 0.192130125, -0.0412310356, 0.0001095995427, 0.03353745586, 0.02136701328, 1.046000707e-05,
    0.3785727927, 0.01907375239, 0.0001361778053, -0.01839583423, -0.02810074282, 1.702165283e-05, 0.1238270808,
    -0.05198411023, 0.0003069527957, -0.03139553963, -0.009311586855, 1.279373315e-05, -0.06884045137, -0.03543976511,
    1.831803948e-05, 0.0350782024, 0.01293480317, 1.245452405e-05, -0.04633376662, -0.05303668651, 2.562731675e-05,
    -0.05070369189, 0.01531948472, 1.938625223e-05, -0.01983255216, 0.07033569684, 0.0002192922696, -0.07425352117,
    0.01227096787, 3.309823524e-05, 0.07666885129, -0.07319675938, 0.0002650957208, -0.04045760847, -0.04151730617,
    2.064130806e-05, 0.04485963028, 0.03482932928, 0.0002430944641, 0.08552367288, -0.01312619112, 2.168294421e-05,
    0.5200057535, -0.2264273386, 0.000535884911, -0.03121701626, -0.09790330805, 2.831864779e-05, -0.0464484729,
    -0.002625982361, 2.831463141e-05, -0.07234262168, -0.07114995969, 3.629349153e-05, -0.0041799222, -0.1945968227,
    5.027359467e-05, -0.06919543988, -0.182976168, 5.223959532e-05, 0.0570741443, -0.1087395797, 2.034185087e-05,
    -0.008474704359, -0.01551408189, 2.592761518e-05, 2.633813435, 1.460238118, 0.5044491877, 0.0005819205455,
    -0.001551191941, 0.04453012524, 6.584420413e-05, -0.328743655, -0.3193085658, 9.330548858e-05, -0.08815312009,
    -0.1295641994, 0.0001296163208, -0.1004056789, -0.02013501375, 2.112885447e-05, -0.170946768, -0.05898731382,
    0.0001032041683, -0.07320029975, 0.01434044664, 1.238935207e-05, -0.05661230623, 0.3101860716, 0.0001107718279,
    0.01248507921, -0.04883165041, 2.037695375e-05, -0.01535002479, 0.1373330798, 0.0003736366005, -0.1072609807,
    0.01991440418, 1.887584492e-05, 0.05448952274, -0.005124854514, 1.54388257e-05, -0.1278687222, 0.001578436205,
    2.134820066e-05, 0.04694454066, -0.1760691768, 2.931475621e-05, -0.1648384918, 0.01146706484, 3.150481929e-05,
    0.05729979528, 0.08873507441, 0.0002901516923, 0.05329539918, -0.129733243, 3.852754354e-05, 0.7610956674,
    -0.4129868324, 0.0002657324427, -0.1808561277, -0.04611246581, 1.945987694e-05, -0.1046046138, -0.01727050152,
    0.0003398661406, -0.08771229481, 0.08242990157, 3.180623814e-05, 0.478385868, 0.1930834571, 0.0006459198797,
    -0.2418788275, -0.05487294518, 3.30210071e-05, 0.1846545034, -0.003949062199, 4.629760103e-05, -0.303737413,
    -0.09205459555, 3.33674784e-05, 0.1504623421, 0.0590119885, 6.876262091e-05, -0.5127910145, -0.1180796476,
    6.650966797e-05, 0.03311642481, 0.05993653397, 1.285828487e-05, -0.1550687255, -0.1193226127, 2.647670404e-05};
static rg_tensor vit(rg_ctx *c, const rg_tensor *w, const rg_tensor *x) {
    (void)c;
    rg_tensor t1 = rg_conv2d(x[0], w[0], .stride = RG_SHAPE(4), .bias = w[1]);
    rg_tensor t2 = rg_reshape(t1, RG_SHAPE(2, 16, 4));
    rg_tensor t3 = rg_permute(t2, RG_SHAPE(0, 2, 1));
    rg_tensor t4 = rg_expand(w[2], RG_SHAPE(2, 1, 16));
    rg_tensor t5 = rg_cat(RG_TENSORS(t4, t3), 1);
    rg_tensor t6 = rg_add(t5, w[3]);
    rg_tensor t7 = rg_layernorm(t6, w[12], w[13]);
    rg_tensor t8 = rg_linear(t7, w[4], w[5]);
    rg_tensor t9 = rg_reshape(t8, RG_SHAPE(2, 5, 3, 2, 8));
    rg_tensor t10 = rg_permute(t9, RG_SHAPE(2, 0, 3, 1, 4));
    rg_tensor t11 = rg_select(t10, 0, 0);
    rg_tensor t12 = rg_select(t10, 0, 1);
    rg_tensor t13 = rg_select(t10, 0, 2);
    rg_tensor t14 = rg_attention(t11, t12, t13, .causal = false);
    rg_tensor t15 = rg_permute(t14, RG_SHAPE(0, 2, 1, 3));
    rg_tensor t16 = rg_reshape(t15, RG_SHAPE(2, 5, 16));
    rg_tensor t17 = rg_linear(t16, w[6], w[7]);
    rg_tensor t18 = rg_add(t6, t17);
    rg_tensor t19 = rg_layernorm(t18, w[14], w[15]);
    rg_tensor t20 = rg_linear(t19, w[8], w[9]);
    rg_tensor t21 = rg_gelu(t20);
    rg_tensor t22 = rg_linear(t21, w[10], w[11]);
    rg_tensor t23 = rg_add(t18, t22);
    rg_tensor t24 = rg_layernorm(t23, w[24], w[25]);
    rg_tensor t25 = rg_linear(t24, w[16], w[17]);
    rg_tensor t26 = rg_reshape(t25, RG_SHAPE(2, 5, 3, 2, 8));
    rg_tensor t27 = rg_permute(t26, RG_SHAPE(2, 0, 3, 1, 4));
    rg_tensor t28 = rg_select(t27, 0, 0);
    rg_tensor t29 = rg_select(t27, 0, 1);
    rg_tensor t30 = rg_select(t27, 0, 2);
    rg_tensor t31 = rg_attention(t28, t29, t30, .causal = false);
    rg_tensor t32 = rg_permute(t31, RG_SHAPE(0, 2, 1, 3));
    rg_tensor t33 = rg_reshape(t32, RG_SHAPE(2, 5, 16));
    rg_tensor t34 = rg_linear(t33, w[18], w[19]);
    rg_tensor t35 = rg_add(t23, t34);
    rg_tensor t36 = rg_layernorm(t35, w[26], w[27]);
    rg_tensor t37 = rg_linear(t36, w[20], w[21]);
    rg_tensor t38 = rg_gelu(t37);
    rg_tensor t39 = rg_linear(t38, w[22], w[23]);
    rg_tensor t40 = rg_add(t35, t39);
    rg_tensor t41 = rg_layernorm(t40, w[28], w[29]);
    rg_tensor t42 = rg_select(t41, 1, 0);
    rg_tensor t43 = rg_linear(t42, w[30], w[31]);
    rg_tensor t44 = rg_cross_entropy(t43, x[1], .reduction = RG_MEAN);
    return t44;
}
static const struct made vit_params[] = {{{16, 3, 4, 4}, 4, .scale = 0.14433756729740643}, {{16}, 1, .scale = 1}, {{1,
    1, 16}, 3, .scale = 0.25}, {{5, 16}, 2, .scale = 0.25}, {{48, 16}, 2, .scale = 0.25}, {{48}, 1, .scale = 1}, {{16,
    16}, 2, .scale = 0.25}, {{16}, 1, .scale = 1}, {{64, 16}, 2, .scale = 0.25}, {{64}, 1, .scale = 1}, {{16, 64}, 2,
    .scale = 0.125}, {{16}, 1, .scale = 1}, {{16}, 1, .fill = 1}, {{16}, 1, .fill = 0}, {{16}, 1, .fill = 1}, {{16},
    1, .fill = 0}, {{48, 16}, 2, .scale = 0.25}, {{48}, 1, .scale = 1}, {{16, 16}, 2, .scale = 0.25}, {{16}, 1, .scale
    = 1}, {{64, 16}, 2, .scale = 0.25}, {{64}, 1, .scale = 1}, {{16, 64}, 2, .scale = 0.125}, {{16}, 1, .scale = 1},
    {{16}, 1, .fill = 1}, {{16}, 1, .fill = 0}, {{16}, 1, .fill = 1}, {{16}, 1, .fill = 0}, {{16}, 1, .fill = 1},
    {{16}, 1, .fill = 0}, {{5, 16}, 2, .scale = 0.25}, {{5}, 1, .scale = 1}};
static const struct made vit_inputs[] = {{{2, 3, 8, 8}, 4, .scale = 1}, {{2}, 1, .classes = 5}};
static const double vit_want[] = {1.71229985, -1.070103245, -0.6429919412, 0.0003146668297, 0.02438475748,
    -0.01937060321, 1.958324612e-05, -0.2265138527, -0.1147783718, 7.025538504e-05, -0.2055769229, -0.1998585665,
    0.0001570958167, 0.9870465661, 0.02136374625, 0.0005873755355, -0.05344437451, 0.05021282724, 6.736066553e-05,
    -0.1163929473, -0.644909522, 0.0004177047823, -0.02298368677, -0.2296164088, 3.476743196e-05, 0.001603010025,
    0.04425935165, 0.0003778475467, 0.1820624674, -0.03618436938, 3.398714465e-05, 0.2861052369, -0.6022482757,
    0.0008158817749, -0.05947404748, -0.1446492873, 3.287484201e-05, -0.2525684425, -0.01059032255, 5.275661225e-05,
    -0.09103990519, 0.03832885342, 3.470111313e-05, -0.06020432306, -0.1816400891, 3.636036034e-05, 0.09547263209,
    -0.139468165, 3.029173485e-05, 1.103626528, 0.5861288026, 0.0004635729867, -0.007592510357, 0.07541746887,
    4.888626062e-05, -0.1580772201, 1.246632367, 0.0003633209052, -0.03597638464, -0.130549668, 2.24031933e-05,
    -0.09934381789, 0.7776529985, 0.000252455768, -0.00232077273, 0.03002939324, 2.782921759e-05, -0.4903293012,
    -1.168217497, 0.0005503030004, -0.01747860722, -0.1111755708, 1.930932043e-05, 0.05978690994, 0.1547576154,
    3.907768328e-05, -0.1387986578, -0.120434418, 2.544413255e-05, 0.09697046355, 0.0004668526109, 2.688721674e-05,
    -0.005046830966, -0.03173167438, 2.587505855e-05, -0.07481980462, -0.154019168, 6.679917089e-05, 0.02339408436,
    -0.2647483758, 5.278533094e-05, -0.1579431494, 0.6111860445, 0.000575799118, 0.2816257207, 0.3059139929,
    9.721226866e-05, 2.379217798, 0.516262024, 0.05282460956, 0.0006727063763, -0.03497222368, -0.05603444077,
    3.2929025e-05, 0.357172358, 0.2307325105, 0.0001686153731, 0.4726806788, 0.2160893302, 0.0003770354362,
    0.2194755947, -0.05045498972, 0.0007594785335, 0.02059844934, 0.127410403, 8.176522218e-05, -0.46871877,
    -0.1486845525, 0.000635782404, 0.3638561342, -0.1868192276, 5.758714425e-05, -1.605520397, -0.4248817337,
    0.0007050549675, 0.2442297331, -0.1412956033, 6.833729712e-05, -2.854915563, 0.3652197508, 0.001284916045,
    0.2790954141, -0.08580623641, 5.010379163e-05, 0.2700692642, 0.2249226626, 5.541391044e-05, -0.07403841785,
    0.1139059447, 8.253407584e-05, 0.1417804315, -0.08311143426, 4.544351292e-05, 0.1486686551, -0.180687121,
    3.204282556e-05, 0.1930837662, 0.6570854089, 0.00066015127, 0.01024050854, 0.2057624884, 8.362541766e-05,
    0.8872551999, 0.2714309359, 0.0009496389363, 0.2947441041, 0.003533084595, 5.652258063e-05, 0.2421238648,
    1.841470004, 0.0005525536963, -0.1215512086, 0.0359479859, 6.258535317e-05, -0.450929646, -0.6451027424,
    0.001553729377, 0.3143278976, -0.01767594951, 6.049746701e-05, 0.1909579429, 0.05191672471, 4.17091735e-05,
    -0.06325798552, -0.2586887687, 4.874571371e-05, -0.1000626963, 0.06660786089, 8.151818429e-05, -0.0973447256,
    0.03605727452, 3.696468738e-05, -0.45790412, -0.03892336706, 0.0001367600183, 0.8276574723, -0.05121356873,
    0.0001430825176, -0.7052142121, 0.2517437628, 0.0007033237683, 0.9663689575, 0.4665397431, 0.0001138976972,
    1.72337458, -0.3402808316, 0.418325354, 0.0001798098507, 0.03224012355, -0.01349108379, 1.920190295e-05,
    0.2745227337, 0.3732243447, 9.419867438e-05, 0.2702604711, 0.4194024574, 0.0002106346393, 0.2349007825,
    0.09687061135, 0.0003409148638, -0.04369933398, 0.1282829118, 5.711016123e-05, -0.1563555691, 0.4370800973,
    0.0004299056482, 0.2711207586, 0.1427524184, 4.292871636e-05, -0.5596927364, -0.2566573669, 0.0004199058171,
    -0.07959925242, 0.01089501672, 3.994736823e-05, -1.593043725, 0.7222077728, 0.0009612597828, 0.2997618593,
    0.119011485, 3.933474434e-05, -0.05269748632, 0.0473083355, 1.763115318e-05, 0.005225602342, 0.06156274407,
    3.76633125e-05, 0.1595679681, 0.1671799972, 4.5379866e-05, -0.05971546644, 0.008977250527, 2.34943852e-05,
    -1.105681436, 0.4375984478, 0.0004865542066, -0.006670727819, 0.04351373695, 5.706390708e-05, 0.01993772554,
    -1.502611659, 0.000422777436, 0.2532797563, 0.1691422688, 2.799664028e-05, -0.1515002305, -0.05714230692,
    0.0003815332505, -0.08413167332, 0.07508651338, 4.13810016e-05, 0.003668861305, 1.625419481, 0.0007522699536,
    0.2741758207, 0.1372486947, 2.939247246e-05, -0.09452310596, -0.1086292397, 4.357576373e-05, 0.1479505438,
    -0.1120083782, 3.297178425e-05, -0.1168848175, 0.04612720941, 5.346567217e-05, -0.107495445, 0.05072811534,
    3.44043245e-05, 0.5418622744, 0.161134507, 0.0001213982212, 0.814965636, 0.5093661653, 7.898500474e-05,
    -0.6831022393, -0.6783057479, 0.0007562312635, 0.2789121768, -0.1586502651, 9.914196257e-05, 1.475713892,
    0.7164192152, 0.270470824, 0.0001625285363, -0.03198776621, -0.005317820998, 7.285843261e-06, -0.2628000378,
    -0.2880970004, 6.776574295e-05, -0.3208715831, -0.320667174, 0.0001515288078, 0.2011128163, 0.238384231,
    0.0002727374896, 0.05710091622, -0.115406516, 3.678254837e-05, 0.3044259647, -0.2391831364, 0.0005401419473,
    -0.08345673586, -0.1024826023, 3.552231755e-05, -0.05221077374, -0.2089380917, 0.0003089194182, 0.07582666379,
    -0.06554213107, 2.898368525e-05, -0.05627571926, 0.3620674369, 0.0008540932287, -0.1121374844, -0.07632931719,
    3.113791895e-05, -0.01654092389, -0.06806578339, 2.164546592e-05, -0.07401459504, -0.1285310505, 2.418049883e-05,
    0.001508264673, -0.07500576956, 1.384820374e-05, 0.04904031135, -0.03644149583, 1.765220404e-05, 0.140369535,
    -0.2333188396, 0.0003625977949, 0.002914501041, 0.007056249947, 4.268169012e-05, 0.4851665449, 1.00602295,
    0.0005944146432, -0.08231526976, -0.1138545115, 3.54145013e-05, 0.2396698443, 0.5873867763, 0.0004381546404,
    0.02798132595, -0.09859980718, 4.639046832e-05, 0.01620870787, -0.9973107225, 0.0009115834851, -0.08375216315,
    -0.1123506758, 3.332972865e-05, 0.01282319741, 0.02075350755, 1.422208485e-05, -0.07399737867, 0.09091384129,
    2.629605319e-05, -0.06733137544, 0.006083376227, 2.811546458e-05, -0.01446744248, -0.01426165794, 2.581263248e-05,
    -0.6595029121, -0.1091631538, 0.0001498018921, -0.2569762223, -0.4184350543, 0.0001156568722, -0.1082179118,
    0.002266765401, 0.0005496731142, 0.3119894319, 0.2645943277, 8.354124069e-05, 2.034898211, -0.1192616515,
    -0.2836191036, 0.0001483804732, 0.007696504511, -0.007952970194, 1.400419517e-05, -0.04662166483, -0.409798808,
    9.404626066e-05, -0.05296890083, -0.4708281621, 0.0002102938319, -0.5831390197, -0.134434697, 0.0003754804336,
    0.09766641915, -0.02907914045, 5.693090735e-05, -0.03554036026, -1.482883808, 0.0005830838521, -0.295561117,
    -0.2311229116, 4.417862757e-05, 1.106700872, 0.4043482501, 0.0003078051289, 0.03829775711, 0.04568428388,
    2.980056411e-05, 1.875863412, -0.7017272457, 0.0009834213624, -0.3053183676, -0.2116023321, 3.722078027e-05,
    0.1634446963, -0.05224308025, 3.687762643e-05, 0.07751911909, -0.009179311327, 3.453804375e-05, -0.1902826296,
    -0.1063982126, 5.938289366e-05, 0.06093004175, 0.003275667921, 2.312005293e-05, 0.5003623872, -0.3439418706,
    0.0004281363979, -0.06170379349, -0.01903593355, 5.094779634e-05, -0.7310669995, 0.9835783989, 0.0006019835978,
    -0.2950780348, -0.1875656177, 3.418196123e-05, -0.2329136353, -0.4795781232, 0.0003843145303, 0.008710991956,
    -0.002222507701, 4.170725785e-05, 0.8781132033, -0.5776480647, 0.0009148014308, -0.2843361224, -0.16177406,
    3.594180058e-05, 0.01127169635, 0.1485999612, 3.210786379e-05, -0.02742378387, 0.007466409138, 3.038557844e-05,
    0.203103117, -0.025584407, 4.371565633e-05, -0.008523013507, -0.04618957347, 3.010744176e-05, 0.2563571129,
    -0.3503202708, 0.0001583311114, -0.7660742311, -0.2367149276, 0.0001238705966, 0.8274495376, 0.2511194894,
    0.0007939036768, -0.5674533447, -0.08014343605, 0.0001014331677, 2.260520228, 0.5529239554, 0.2634495806,
    0.000248993334, 0.1032537623, 0.1376825624, 3.244483019e-05, -0.3558466274, -0.4136865202, 8.004969456e-05,
    -0.441710551, -0.4222728444, 0.0001789965586, -0.6774068651, 0.326393433, 0.0005834590575, -0.05968845632,
    -0.208485421, 8.438340852e-05, 0.3549907518, 1.915036502, 0.0005294233691, -0.3597875043, 0.06194672282,
    4.836750354e-05, 1.027774566, 0.1647414254, 0.0005591325354, -0.03070868892, -0.07943091479, 5.508380646e-05,
    1.697461512, 0.3146658354, 0.001172860467, -0.3503043193, 0.02580632478, 4.77133837e-05, -0.04384470758,
    -0.2114072364, 3.198843126e-05, 0.1315055332, -0.05660965803, 6.006691221e-05, -0.1343208491, -0.01811353682,
    2.684524132e-05, 0.0470354094, 0.111853788, 2.30248932e-05, 0.5871215723, -1.172391315, 0.0008430411633,
    -0.07392572099, -0.06310000037, 0.0001006214998, 0.3996531809, 1.908334072, 0.0006467617625, -0.34375343,
    -0.08248887895, 4.0573934e-05, 0.0517435575, -0.6354374553, 0.000402418986, 0.09565443145, -0.1612819514,
    4.814552031e-05, 1.26004473, -1.153750535, 0.00103273774, -0.3973818929, -0.08847139978, 3.869024766e-05,
    0.1392068135, 0.08646985233, 3.471585282e-05, 0.01608074537, 0.2858845695, 4.863221874e-05, 0.05254921842,
    -0.03346144831, 4.286746239e-05, 0.1821974356, 0.05476221574, 2.806001594e-05, -0.2859258216, -0.5942351679,
    0.0002289188406, -1.131472401, 0.1510776596, 0.0001499065119, -1.209292783, -0.3597531069, 0.0007741699821,
    -1.168465904, -0.5120619332, 0.0001008946816, 1.854500667, -0.1993541614, 0.0110016784, 0.0002365745868,
    -0.07462564953, -0.068278962, 2.075777217e-05, 0.165395599, 0.2070500307, 9.294755554e-05, 0.1941991597,
    0.1942733038, 0.0002078370525, 0.2419561746, -0.869718505, 0.0003700002477, -0.0111889022, 0.1758205337,
    5.784727852e-05, -0.3687423739, -0.4309409109, 0.0004383720919, 0.2976088579, -0.0641731633, 3.25748529e-05,
    -1.000721902, -0.3503968872, 0.0003957576735, 0.1005463557, -0.03127329615, 3.778954346e-05, -1.651687662,
    0.06698942289, 0.0008456224273, 0.263603763, -0.02465651206, 2.942877853e-05, -0.2428812215, -0.05022430383,
    4.264465315e-05, -0.1345093882, 0.07018308264, 3.834343352e-05, 0.1202400746, -0.03269479842, 1.535674306e-05,
    0.04860237551, -0.09446310176, 1.899237142e-05, 0.05576517633, 0.8000702608, 0.0006291874056, 0.03998056962,
    0.09221704075, 6.26310737e-05, 0.4013434938, -0.4965337654, 0.0006407387094, 0.269764882, 0.04781608517,
    3.762163523e-05, 0.03440069994, 1.184298872, 0.0003249006308, -0.07015350137, 0.08775024287, 4.086375152e-05,
    -0.8481517199, 0.4780149177, 0.001013766511, 0.2898142881, 0.03648130887, 4.149555719e-05, -0.07731271857,
    -0.07275236697, 2.047418131e-05, -0.04255920687, -0.2132085481, 4.082549792e-05, -0.1092327212, 0.0524195078,
    4.865016305e-05, -0.1164110139, -0.007681839864, 2.482556939e-05, -0.2305983021, 0.2732081859, 0.0001248691549,
    0.8698219244, -0.02124294211, 0.0001176144266, 0.08963647758, 0.2521481926, 0.0008984846019, 1.004025179,
    0.450551309, 9.535340088e-05, 2.252126851, 0.5450248112, 0.1873987855, 0.0002525369093, 0.1327262871,
    0.1110322069, 3.726734584e-05, -0.5073672813, -0.0540124705, 9.861377701e-05, -0.5820323676, -0.02367770219,
    0.0002205071089, 0.1065683359, 1.066202643, 0.0004996289817, -0.2948887571, -0.3843808872, 8.932233174e-05,
    0.9688531847, 3.134057274, 0.0006030997361, -0.1537856304, 0.2135288263, 5.719289962e-05, 0.06689556516,
    0.01329209567, 0.0008121616382, 0.07384769408, -0.2361566617, 7.929077601e-05, 0.5107316893, -0.04434335183,
    0.001790450775, -0.2351344986, 0.2057483756, 7.196276129e-05, 0.02144091328, 0.1667018029, 6.139926369e-05,
    0.007456597287, -0.1069278093, 7.592014389e-05, -0.1202641156, -0.06163729157, 2.044329342e-05, 0.1822731635,
    0.03606501319, 3.196536191e-05, 1.02641863, -1.281144448, 0.001438342992, -0.02841696679, -0.07059713179,
    0.0001634781816, 1.088783992, 1.018747383, 0.0008788150112, -0.2524988155, 0.06330353376, 5.31548506e-05,
    0.5271727253, 0.1028759533, 0.0005950446405, 0.1701824823, -0.1715027628, 6.844455237e-05, 0.625770422,
    -2.53132783, 0.001302456064, -0.3762561737, 0.03040827813, 5.285277352e-05, 0.1021552025, 0.01217993749,
    8.074024905e-05, -0.1016038184, 0.2946288601, 7.898783563e-05, 0.02154544304, -0.01923368474, 6.596344811e-05,
    0.426664772, 0.15236749, 4.86897645e-05, -0.5840751172, -0.05192324046, 0.0002939619181, -1.05548045,
    0.4578004859, 0.0002251186204, -2.936360823, 0.3151041255, 0.001740335537, -1.352658901, -0.5254354398,
    0.000200039488, 2.188414627, 0.7780671746, 0.08540742842, 0.0001887917732, -0.04477381637, -0.0324959427,
    1.366264557e-05, 0.4046432233, 0.2298896558, 7.745666976e-05, 0.4071864713, 0.2082244027, 0.0001731983789,
    0.1173432611, -0.5975799656, 0.0004267576253, -0.004732677234, 0.2247460787, 5.62263465e-05, -0.8030548946,
    -0.02836535536, 0.0004226583709, 0.1422084362, -0.04846281261, 3.216431195e-05, -0.3526854216, 0.0008986971728,
    0.0003383126311, 0.02904143633, 0.01892931747, 3.283200015e-05, -0.2561382615, -1.044700689, 0.0009319619662,
    0.1421468997, -0.02796558293, 3.472094871e-05, 0.01298957143, -0.05944765859, 4.415339626e-05, 0.03406055874,
    0.1547921208, 3.907343383e-05, 0.01435906354, -0.003051158131, 1.411566424e-05, 0.01496786675, -0.05328714709,
    1.579458547e-05, 0.2681308493, 0.7712417581, 0.0005276910136, -0.02940784617, 0.1076753199, 5.524152916e-05,
    -0.4122481175, -0.3019297924, 0.0005987728918, 0.124975784, 0.04803564642, 3.305164456e-05, -0.2781245224,
    -0.4142234548, 0.0004509517931, -0.05646232835, 0.1320470144, 5.234021601e-05, -0.4741262759, 0.8574445941,
    0.0007508910621, 0.1565757482, 0.04957121142, 3.45296748e-05, 0.07048518987, -0.003095745116, 3.325187014e-05,
    0.06048198859, -0.2159631187, 3.23207477e-05, 0.09413768076, 0.01915559849, 2.57978621e-05, -0.08953189256,
    0.006681384852, 1.993772212e-05, 1.127854617, 0.9683945154, 0.0003948324692, 0.9198444325, 0.5073166964,
    0.0001773630515, -0.6004424343, -0.7126953755, 0.001012838822, 0.2653803178, -0.0441665421, 0.0001077118541,
    2.503198115, -0.1327814383, 0.08094941373, 0.000189593263, -0.0186455191, -0.07825660447, 2.433797144e-05,
    0.0979271175, -0.06878952326, 0.0001191703814, 0.1206391409, -0.09377381184, 0.0002664730737, -0.06062397851,
    0.3275749772, 0.0003002128116, 0.1236978435, 0.09481767073, 6.802684947e-05, -0.821775551, -2.575342732,
    0.000489227279, -0.06057259019, -0.1817674462, 3.302052744e-05, 0.3320768888, -0.3041879331, 0.0005107989824,
    -0.02388360709, 0.04566672339, 4.901580507e-05, 0.0134246714, 0.7042331741, 0.001072680271, -0.03032609253,
    -0.196837812, 4.216640464e-05, 0.1475095558, -0.1336721636, 4.158042478e-05, 0.009745230876, -0.0529529198,
    6.214852857e-05, 0.00196506842, 0.03649208509, 1.715298109e-05, -0.04320910805, 0.05164475212, 2.420208643e-05,
    -1.574527717, 0.2630421129, 0.0007162603992, -0.05938157598, 0.03118910005, 6.692987902e-05, 0.2325378173,
    0.005297158398, 0.000636602991, -0.0390808942, -0.1362517813, 3.314312927e-05, -0.4364228417, -0.5694653832,
    0.0004126581715, -0.08599284499, -0.02615026797, 4.765247508e-05, 0.4875773029, 1.009130113, 0.0007435758932,
    0.01438836043, -0.1294198931, 3.211924844e-05, -0.183224052, -0.006449359455, 7.519136523e-05, 0.1744842768,
    -0.01472841238, 5.606569223e-05, -0.06227570404, 0.001764139651, 4.757822998e-05, -0.2341829319, -0.05478489892,
    3.024360002e-05, 0.4638264014, -1.075046165, 0.0002012845366, 0.2731973392, -0.1928313476, 0.0001480144333,
    2.075938121, -1.165523616, 0.0008590605164, 0.4899776019, 0.02994634667, 0.0001141777776};
static const struct network networks[] = {
    {"gru", gru, gru_params, RG_COUNT(gru_params), gru_inputs, RG_COUNT(gru_inputs), gru_want},
    {"lstm", lstm, lstm_params, RG_COUNT(lstm_params), lstm_inputs, RG_COUNT(lstm_inputs), lstm_want},
    {"unet", unet, unet_params, RG_COUNT(unet_params), unet_inputs, RG_COUNT(unet_inputs), unet_want},
    {"resnet", resnet, resnet_params, RG_COUNT(resnet_params), resnet_inputs, RG_COUNT(resnet_inputs), resnet_want},
    {"llama", llama, llama_params, RG_COUNT(llama_params), llama_inputs, RG_COUNT(llama_inputs), llama_want},
    {"gpt2", gpt2, gpt2_params, RG_COUNT(gpt2_params), gpt2_inputs, RG_COUNT(gpt2_inputs), gpt2_want},
    {"bert", bert, bert_params, RG_COUNT(bert_params), bert_inputs, RG_COUNT(bert_inputs), bert_want},
    {"vit", vit, vit_params, RG_COUNT(vit_params), vit_inputs, RG_COUNT(vit_inputs), vit_want},
};
/* clang-format on */
