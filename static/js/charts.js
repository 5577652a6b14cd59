// Draws the charts whose figures stand in the page as JSON, in the colours of the page's theme.
(function () {
  "use strict";
  const library = document.currentScript.dataset.plotly;
  let loading = null;

  function load() {
    if (!loading) {
      loading = new Promise(function (resolve, reject) {
        const script = document.createElement("script");
        script.src = library;
        script.onload = resolve;
        script.onerror = reject;
        document.head.append(script);
      });
    }
    return loading;
  }

  // A custom property that holds light-dark() is only resolved where it is used as a colour.
  function colours(element) {
    const probe = document.createElement("span");
    element.append(probe);
    const names = ["ink", "ink-2", "hairline", "accent", "fits", "tight", "bad", "surface", "paper", "rule", "memory-weights", "memory-kv", "memory-activations", "memory-own3"];
    const found = {};
    for (const name of names) {
      probe.style.color = "var(--" + name + ")";
      found[name] = getComputedStyle(probe).color;
    }
    probe.remove();
    return found;
  }

  const marks = {
    meets: function (c) { return { color: c.fits, size: 8, symbol: "circle", opacity: 0.85 }; },
    misses: function (c) { return { color: c["ink-2"], size: 8, symbol: "circle-open", line: { width: 1.4 } }; },
    tight: function (c) { return { color: c.tight, size: 9, symbol: "diamond-open", line: { width: 1.4 } }; },
  };

  // 1, 2 and 5 of each decade; whole decades alone where there are so many that labels would meet.
  function steps(values) {
    return Math.log10(Math.max.apply(null, values) / Math.min.apply(null, values)) > 3.2 ? 1 : "D2";
  }

  function place(axis, value) { return axis.type === "log" ? Math.log10(value) : value; }

  function pale(colour, share) {
    const parts = colour.match(/[\d.]+/g);
    return parts ? "rgba(" + parts.slice(0, 3).join(",") + "," + share + ")" : colour;
  }

  // Curves and bars: lines across and upright mark targets and where one stands.
  function explored(figure, element) {
    const c = colours(element);
    const layout = figure.layout;
    const meta = layout.meta || {};
    const font = { family: getComputedStyle(element).fontFamily, size: 12, color: c["ink-2"] };
    const axis = { gridcolor: c.hairline, linecolor: c.rule, zeroline: true, zerolinecolor: c.rule, ticks: "", automargin: true, fixedrange: true, tickfont: font };
    const shapes = [];
    const annotations = [];
    const line = { color: c["ink-2"], width: 1, dash: "4px,3px" };
    for (const mark of meta.across || []) {
      shapes.push({ type: "line", xref: "paper", x0: 0, x1: 1, y0: mark[0], y1: mark[0], line: line });
      annotations.push({ xref: "paper", x: 1, xanchor: "right", y: place(layout.yaxis, mark[0]), yanchor: "bottom", text: mark[1], showarrow: false, font: font });
    }
    const uprightMarks = (meta.upright || []).slice().sort(function (a, b) { return a[0] - b[0]; });
    for (const mark of uprightMarks) {  // Two names part to both sides, so that they never meet.
      const side = uprightMarks.length === 1 ? "center" : mark === uprightMarks[0] ? "right" : "left";
      shapes.push({ type: "line", yref: "paper", y0: 0, y1: 1, x0: mark[0], x1: mark[0], line: line });
      annotations.push({ yref: "paper", y: 1, yanchor: "bottom", x: place(layout.xaxis, mark[0]), xanchor: side, text: mark[1], showarrow: false, font: font });
    }
    const data = figure.data.map(function (trace) {
      const colour = c["memory-" + trace.meta.role];
      if (trace.meta.drawn === "band") { return Object.assign({}, trace, { fillcolor: pale(colour, 0.14) }); }
      if (trace.meta.drawn === "bar") { return Object.assign({}, trace, { marker: { color: colour } }); }
      return Object.assign({}, trace, { line: Object.assign({ color: colour, width: 2 }, trace.line), marker: { color: colour, size: 5 } });
    });
    const bars = Boolean(meta.rows);
    const across = layout.xaxis.type === "log" ? { dtick: steps(data.flatMap(function (trace) { return trace.x; })), tickformat: ",~r" } : { tickformat: bars ? "+,~r" : ",~r" };
    const upright = bars ? { gridcolor: "rgba(0,0,0,0)" } : layout.yaxis.type === "log" ? { dtick: steps(data.flatMap(function (trace) { return trace.y; })), tickformat: ",~r" } : { tickformat: ",~r", rangemode: "tozero" };
    return {
      data: data,
      layout: {
        font: font, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", autosize: true, dragmode: false, hovermode: "closest",
        height: bars ? 110 + meta.rows * 30 : 360, margin: { l: 56, r: 24, t: 28, b: 48 }, barmode: "group", bargap: 0.35,
        xaxis: Object.assign({}, axis, across, layout.xaxis, { title: Object.assign({ font: font }, layout.xaxis.title) }),
        yaxis: Object.assign({}, axis, upright, layout.yaxis, { title: Object.assign({ font: font }, layout.yaxis.title) }),
        legend: { orientation: "h", x: 0, y: 1.06, yanchor: "bottom", font: font, itemclick: false, itemdoubleclick: false },
        hoverlabel: { bgcolor: c.surface, bordercolor: c.rule, font: Object.assign({}, font, { color: c.ink }), align: "left" },
        shapes: shapes, annotations: annotations,
      },
      config: { displayModeBar: false, responsive: true, doubleClick: false },
    };
  }

  function themed(figure, element) {
    if (figure.data.some(function (trace) { return trace.meta.drawn; })) { return explored(figure, element); }
    const c = colours(element);
    const narrow = element.clientWidth < 520;
    const font = { family: getComputedStyle(element).fontFamily, size: 12, color: c["ink-2"] };
    const axis = {
      gridcolor: c.hairline, linecolor: c.rule, zeroline: false, ticks: "", automargin: true, fixedrange: true,
      tickfont: font, tickformat: ",~r", nticks: narrow ? 5 : 8,
    };
    const layout = figure.layout;
    const target = layout.meta || {};
    const shapes = [];
    const annotations = [];
    if (target.target) {
      const y = place(layout.yaxis, target.target);
      shapes.push({ type: "line", xref: "paper", x0: 0, x1: 1, y0: target.target, y1: target.target, line: { color: c["ink-2"], width: 1, dash: "4px,3px" } });
      annotations.push({ xref: "paper", x: 1, xanchor: "right", y: y, yanchor: "bottom", text: target.target_label, showarrow: false, font: font });
    }
    // 1, 2 and 5 of each decade; only whole decades where there is little room and more than one of them.
    const amounts = figure.data.flatMap(function (trace) { return trace.x; });
    const decades = Math.log10(Math.max.apply(null, amounts) / Math.min.apply(null, amounts));
    const across = layout.xaxis.type === "log" ? { dtick: narrow && decades > 1.2 ? 1 : "D2" } : {};
    const data = figure.data.map(function (trace) {
      const role = trace.meta.role;
      if (role === "frontier") {
        return Object.assign({}, trace, { mode: "lines", line: { shape: "hv", color: c.accent, width: 1.4 } });
      }
      return Object.assign({}, trace, { marker: marks[role](c) });
    });
    return {
      data: data,
      layout: {
        font: font, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", height: 380, autosize: true,
        margin: { l: 56, r: narrow ? 12 : 72, t: 16, b: 48 }, hovermode: "closest", dragmode: false,
        xaxis: Object.assign({}, axis, across, layout.xaxis, { title: Object.assign({ font: font }, layout.xaxis.title) }),
        yaxis: Object.assign({}, axis, layout.yaxis, { title: Object.assign({ font: font }, layout.yaxis.title) }),
        legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: font, itemclick: false, itemdoubleclick: false },
        hoverlabel: { bgcolor: c.surface, bordercolor: c.rule, font: Object.assign({}, font, { color: c.ink }), align: "left" },
        shapes: shapes, annotations: annotations,
      },
      config: { displayModeBar: false, responsive: true, doubleClick: false },
    };
  }

  // Names along the frontier, where they are free of each other and of the dots: above right, else below left.
  function named(described, made, drawing) {
    const full = drawing._fullLayout;
    const frontier = described.data.find(function (trace) { return trace.meta.role === "frontier"; });
    if (!frontier || !full || drawing.clientWidth < 520) { return []; }
    const at = function (x, y) {
      return { x: full.xaxis.d2p(x), y: full.yaxis.d2p(y) };
    };
    const taken = [];
    for (const trace of described.data) {
      if (trace === frontier) { continue; }
      trace.x.forEach(function (x, index) {
        const p = at(x, trace.y[index]);
        taken.push([p.x - 4, p.y - 4, p.x + 4, p.y + 4]);
      });
    }
    const pen = document.createElement("canvas").getContext("2d");
    pen.font = "12px " + made.layout.font.family;
    const free = function (box) {
      return box[0] >= 0 && box[1] >= 0 && box[2] <= full.xaxis._length + 64 && !taken.some(function (other) {
        return box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1];
      });
    };
    const placed = [];
    frontier.text.forEach(function (text, index) {
      if (!text) { return; }
      const p = at(frontier.x[index], frontier.y[index]);
      const width = pen.measureText(text).width + 4;
      const tries = [];
      for (const away of [5, 18, 31, 44]) {
        tries.push([p.x + 5, p.y - away - 14, "left", 5, -away - 7], [p.x - 5 - width, p.y + away, "right", -5, away + 7]);
      }
      for (const one of tries) {
        const box = [one[0], one[1], one[0] + width, one[1] + 14];
        if (!free(box)) { continue; }
        taken.push(box);
        placed.push({
          x: place(described.layout.xaxis, frontier.x[index]), y: place(described.layout.yaxis, frontier.y[index]), text: text,
          showarrow: false, xanchor: one[2], yanchor: "middle", xshift: one[3], yshift: -one[4], borderpad: 0,
          font: Object.assign({}, made.layout.font, { color: colours(drawing).ink }),
        });
        break;
      }
    });
    return placed;
  }

  function draw(figure) {
    const source = document.getElementById(figure.dataset.chart);
    const drawing = figure.querySelector(".drawing");
    if (!source || !drawing) { return; }
    const described = JSON.parse(source.textContent);
    load().then(function () {
      if (!drawing.isConnected) { return; }
      const made = themed(described, drawing);
      if (!drawing.classList.contains("js-plotly-plot")) { drawing.replaceChildren(); }
      window.Plotly.react(drawing, made.data, made.layout, made.config).then(function () {
        const names = named(described, made, drawing);
        const png = figure.parentElement.querySelector("[data-png]");
        if (png) { png.hidden = false; }
        if (names.length) { window.Plotly.relayout(drawing, { annotations: made.layout.annotations.concat(names) }); }
      });
      drawing.removeAllListeners && drawing.removeAllListeners("plotly_click");
      drawing.on("plotly_click", function (event) {
        const id = event.points[0] && event.points[0].customdata;
        const link = id && document.querySelector('[data-detail="detail-' + Number(id) + '"]');
        if (link) { link.scrollIntoView({ block: "center" }); link.focus(); }
      });
    }).catch(function () { /* the drawing of the server stays */ });
  }

  // The picture as a file, on the paper's ground, so that it reads in any document.
  document.addEventListener("click", function (event) {
    const button = event.target.closest("[data-png]");
    if (!button) { return; }
    const drawing = button.closest("section").querySelector(".js-plotly-plot");
    if (!drawing) { return; }
    const layout = Object.assign({}, drawing.layout, { paper_bgcolor: colours(drawing).paper, plot_bgcolor: colours(drawing).paper });
    window.Plotly.toImage({ data: drawing.data, layout: layout }, { format: "png", width: 1200, height: 640, scale: 2 }).then(function (url) {
      const link = document.createElement("a");
      link.href = url;
      link.download = button.dataset.png + ".png";
      document.body.append(link);
      link.click();
      link.remove();
    });
  });

  const seen = new IntersectionObserver(function (entries) {
    for (const entry of entries) {
      if (entry.isIntersecting) { seen.unobserve(entry.target); draw(entry.target); }
    }
  }, { rootMargin: "200px" });

  function watch() { document.querySelectorAll("figure[data-chart]").forEach(function (figure) { seen.observe(figure); }); }

  document.addEventListener("DOMContentLoaded", watch);
  document.addEventListener("htmx:afterSwap", watch);
  document.addEventListener("themechange", function () {
    document.querySelectorAll("figure[data-chart] .js-plotly-plot").forEach(function (place) { draw(place.closest("figure")); });
  });
  if (document.readyState !== "loading") { watch(); }
})();
