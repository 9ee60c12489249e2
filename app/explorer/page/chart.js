// Line charts as SVG: as wide as their place, with axes, names and a line to point with.

import { h, number, s } from "./dom.js";

const MARGIN = { top: 14, right: 16, bottom: 34, left: 52 };

/** Round values for the marks of an axis. */
function ticks(low, high, count) {
    const span = high - low || 1,
        rough = span / count,
        power = 10 ** Math.floor(Math.log10(rough));
    const step = power * ([1, 2, 5, 10].find((each) => each * power >= rough) ?? 10);
    const found = [];
    for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + 1e-9 * span; value += step)
        found.push(Math.abs(value) < step / 1e6 ? 0 : value);
    return { found, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
}

/**
 * A chart that draws itself anew where its place changes. `read` gives what to draw: series of { name, points, colour,
 * kind }, where a point is [x, y, half the width of its interval]; kind is line, dots or dashed. `choose` gets the x that was pointed at.
 */
export function chart({ label, height = 240, read, choose }) {
    const box = h("div", { class: "chart" });
    const legend = h("div", { class: "legend" });
    const place = h("div", { class: "chart-place" });
    box.append(place, legend);
    let last;

    function draw() {
        const width = place.clientWidth;
        if (!width) return;
        const data = read();
        const series = data.series.filter((each) => each.points.length);
        const xs = series.flatMap((each) => each.points.map((point) => point[0]));
        const ys = series.flatMap((each) => each.points.flatMap(([, y, error = 0]) => [y - error, y + error]));
        const [x0, x1] = data.x ?? [Math.min(...xs), Math.max(...xs)];
        let [y0, y1] = data.y ?? [Math.min(...ys), Math.max(...ys)];
        if (!(y1 > y0)) {
            y0 -= 1;
            y1 += 1;
        }
        if (!data.y) {
            const room = 0.06 * (y1 - y0);
            y0 -= room;
            y1 += room;
        }
        const right = width - MARGIN.right,
            bottom = height - MARGIN.bottom;
        const X = (x) => MARGIN.left + ((right - MARGIN.left) * (x - x0)) / (x1 - x0 || 1);
        const Y = (y) => bottom - ((bottom - MARGIN.top) * (Math.min(Math.max(y, y0), y1) - y0)) / (y1 - y0);
        const horizontal = ticks(x0, x1, Math.max(2, width / 90)),
            vertical = ticks(y0, y1, 4);
        const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label });
        for (const value of vertical.found) {
            svg.append(
                s("line", {
                    class: value === 0 ? "zero" : "grid",
                    x1: MARGIN.left,
                    x2: right,
                    y1: Y(value),
                    y2: Y(value),
                }),
                s("text", {
                    class: "tick",
                    x: MARGIN.left - 7,
                    y: Y(value) + 4,
                    "text-anchor": "end",
                    text: number(value, data.yDigits ?? vertical.digits),
                }),
            );
        }
        for (const value of horizontal.found) {
            svg.append(
                s("text", {
                    class: "tick",
                    x: X(value),
                    y: bottom + 16,
                    "text-anchor": "middle",
                    text: data.xText?.(value) ?? number(value, horizontal.digits),
                }),
            );
        }
        svg.append(
            s("text", { class: "axis", x: right, y: height - 4, "text-anchor": "end", text: data.xName ?? "" }),
            s("text", { class: "axis", x: MARGIN.left, y: 10, text: data.yName ?? "" }),
        );
        if (data.diagonal) svg.append(s("line", { class: "diagonal", x1: X(x0), y1: Y(x0), x2: X(x1), y2: Y(x1) }));
        for (const each of series) {
            const group = s("g", { class: `series ${each.kind ?? "line"}`, style: { color: each.colour } });
            if (each.kind !== "dots")
                group.append(
                    s("path", {
                        d: each.points
                            .map(([x, y], index) => `${index ? "L" : "M"}${X(x).toFixed(1)} ${Y(y).toFixed(1)}`)
                            .join(""),
                    }),
                );
            if (each.kind === "area")
                group.append(
                    s("path", {
                        class: "area",
                        d: `M${X(each.points[0][0])} ${Y(0)}${each.points.map(([x, y]) => `L${X(x).toFixed(1)} ${Y(y).toFixed(1)}`).join("")}L${X(each.points.at(-1)[0])} ${Y(0)}Z`,
                    }),
                );
            if (each.kind === "dots" || each.dots)
                for (const [x, y, error] of each.points) {
                    if (error) group.append(s("line", { x1: X(x), x2: X(x), y1: Y(y - error), y2: Y(y + error) }));
                    group.append(s("circle", { cx: X(x), cy: Y(y), r: each.radius ?? 3 }));
                }
            svg.append(group);
        }
        let free = -Infinity; // from where on there is room for the name of a mark
        for (const mark of data.marks ?? []) {
            const isNamed = mark.text && X(mark.x) - 4 * mark.text.length > free;
            if (isNamed) free = X(mark.x) + 4 * mark.text.length;
            svg.append(
                s(
                    "g",
                    { class: `mark ${mark.kind ?? ""}`, "data-ply": mark.x },
                    s("circle", { cx: X(mark.x), cy: Y(mark.y), r: 5.5 }, s("title", { text: mark.title })),
                    isNamed
                        ? s("text", {
                              x: X(mark.x),
                              y: Y(mark.y) + (mark.below ? 19 : -10),
                              "text-anchor": X(mark.x) > right - 30 ? "end" : "middle",
                              text: mark.text,
                          })
                        : "",
                ),
            );
        }
        if (data.at !== undefined)
            svg.append(s("line", { class: "now", x1: X(data.at), x2: X(data.at), y1: MARGIN.top, y2: bottom }));
        if (choose) {
            svg.classList.add("can-choose");
            svg.addEventListener("click", (event) => {
                const at =
                    x0 +
                    (((event.clientX - svg.getBoundingClientRect().left) * (width / svg.clientWidth) - MARGIN.left) /
                        (right - MARGIN.left)) *
                        (x1 - x0);
                choose(Math.min(x1, Math.max(x0, at)));
            });
        }
        place.replaceChildren(svg);
        legend.replaceChildren(
            ...series
                .filter((each) => each.name)
                .map((each) => h("span", { style: { color: each.colour } }, h("i"), each.name)),
        );
    }

    new ResizeObserver(() => {
        if (place.clientWidth !== last) {
            last = place.clientWidth;
            draw();
        }
    }).observe(place);
    box.redraw = draw;
    return box;
}

export const COLOURS = ["#3d84d6", "#e0812a", "#2a9d78", "#b06bc4", "#c4a021", "#58b4d8", "#d0586b", "#7d8a97"];
