// Plots over time and a distribution, drawn as SVG; a cursor, by mouse or arrow keys, shows the values at a time.
// All texts are inserted by {{ }}, which escapes them.
const HEIGHT = 100;
const [LEFT, RIGHT, TOP, BOTTOM] = [60, 8, 8, 20];

function prefixed(value, unit, names, step) {
  let index = 0;
  while (Math.abs(value) >= step && index < names.length - 1) {
    value /= step;
    index += 1;
  }
  const digits = value && Math.abs(value) < 10 && index ? 1 : 0;
  return `${value.toFixed(digits)} ${names[index]}${unit}`;
}

function formatted(value, unit) {
  if (value === null || value === undefined) return "-";
  if (unit.startsWith("bytes")) return prefixed(value, unit.slice(5), ["B", "kB", "MB", "GB", "TB"], 1000);
  if (unit === "s") {
    if (!value) return "0 s";
    const names = [["ns", 1e-9], ["µs", 1e-6], ["ms", 1e-3], ["s", 1]];
    const [name, size] = names.filter(([, each]) => value >= each).pop() || names[0];
    const shown = value / size;
    return `${shown.toFixed(shown < 10 ? 1 : 0)} ${name}`;
  }
  return `${value.toFixed(value % 1 && value < 10 ? 1 : 0)}${unit}`;
}

function ago(seconds) {
  const age = Math.round(-seconds);
  if (age <= 0) return "now";
  return age < 120 ? `-${age} s` : `-${Math.round(age / 60)} min`;
}

function niceTop(most) {
  if (!(most > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return power * [1, 2, 4, 5, 8, 10].find((each) => each * power >= most * 0.999);
}

const Panel = {
  template: `
    <figure class="ac-panel ac-plot" :data-test="'plot ' + panel.title">
      <figcaption class="ac-head">
        <h2>{{ panel.title }} <small>{{ panel.bars ? 'measurements' : '' }}</small></h2>
        <span class="ac-muted" aria-live="off">{{ when }}</span>
      </figcaption>
      <svg ref="svg" :viewBox="'0 0 ' + width + ' ' + height" :height="height" role="img" tabindex="0"
           :aria-label="panel.title + ': ' + summary"
           @mousemove="point" @mouseleave="cursor = null" @keydown.left.prevent="move(-1)"
           @keydown.right.prevent="move(1)" @blur="cursor = null">
        <g v-for="tick in yTicks">
          <line class="ac-grid" :x1="left" :x2="width - 8" :y1="tick.y" :y2="tick.y" />
          <text :x="left - 4" :y="tick.y + 4" text-anchor="end">{{ tick.text }}</text>
        </g>
        <text v-for="tick in xTicks" :x="tick.x" :y="height - 4" :text-anchor="tick.anchor">{{ tick.text }}</text>
        <template v-if="panel.bars">
          <rect v-for="bar in bars" class="ac-bar-of" :x="bar.x" :y="bar.y" :width="bar.width" :height="bar.height" />
        </template>
        <path v-for="(text, index) in paths" :class="'ac-series ac-s' + index" :d="text" />
        <line v-if="markX !== null" class="ac-cursor" :x1="markX" :x2="markX" y1="8" :y2="height - 20" />
      </svg>
      <ul v-if="panel.series" class="ac-legend">
        <li v-for="(each, index) in panel.series">
          <svg viewBox="0 0 16 8" width="16" height="8" aria-hidden="true"><path :class="'ac-series ac-s' + index" d="M0 4H16" /></svg>
          {{ each.name }} <b>{{ valueOf(each) }}</b>
        </li>
      </ul>
    </figure>`,
  props: { panel: Object, times: Array, at: Number },
  data() {
    return { width: 320, height: HEIGHT, left: LEFT, cursor: null };
  },
  mounted() {
    this.observer = new ResizeObserver(([entry]) => {
      this.width = Math.max(Math.round(entry.contentRect.width), 160);
    });
    this.observer.observe(this.$refs.svg);
  },
  unmounted() {
    this.observer.disconnect();
  },
  computed: {
    most() {
      if (this.panel.bars) return niceTop(Math.max(...this.panel.bars.map((bar) => bar.count)));
      return niceTop(Math.max(0, ...this.panel.series.flatMap((each) => each.values.map((value) => value ?? 0))));
    },
    first() {
      return this.times.length ? this.times[0] : -1;
    },
    yTicks() {
      const unit = this.panel.bars ? "" : this.panel.unit;
      // Half of one byte is no number of bytes.
      const parts = this.most > 1 || unit === "s" ? [0, 0.5, 1] : [0, 1];
      return parts.map((part) => ({ y: this.y(this.most * part), text: formatted(this.most * part, unit) }));
    },
    xTicks() {
      if (this.panel.bars) {
        const bars = this.panel.bars;
        return [
          { x: LEFT, anchor: "start", text: formatted(bars[0].low, this.panel.unit) },
          { x: this.width - RIGHT, anchor: "end", text: formatted(bars[bars.length - 1].high, this.panel.unit) },
        ];
      }
      return [0, 0.5, 1].map((part) => ({
        x: LEFT + part * (this.width - LEFT - RIGHT),
        anchor: ["start", "middle", "end"][part * 2],
        text: ago(this.first * (1 - part)),
      }));
    },
    paths() {
      return (this.panel.series || []).map(({ values }) => {
        let text = "";
        values.forEach((value, index) => {
          if (value === null) return;
          const isFirst = !index || values[index - 1] === null;
          text += `${isFirst ? "M" : "L"}${this.x(this.times[index]).toFixed(1)} ${this.y(value).toFixed(1)}`;
        });
        return text;
      });
    },
    bars() {
      const width = (this.width - LEFT - RIGHT) / this.panel.bars.length;
      return this.panel.bars.map((bar, index) => ({
        x: LEFT + index * width + 1,
        width: Math.max(width - 2, 1),
        y: this.y(bar.count),
        height: this.height - BOTTOM - this.y(bar.count),
      }));
    },
    markX() {
      if (this.cursor !== null && !this.panel.bars) return this.x(this.times[this.cursor]);
      return this.at === null || this.at === undefined || this.panel.bars ? null : this.x(this.at);
    },
    when() {
      if (this.cursor === null) return "";
      if (!this.panel.bars) return ago(this.times[this.cursor]);
      const bar = this.panel.bars[this.cursor];
      return `${formatted(bar.low, this.panel.unit)} to ${formatted(bar.high, this.panel.unit)}: ${bar.count}`;
    },
    summary() {
      return (this.panel.series || []).map((each) => `${each.name} ${this.valueOf(each)}`).join(", ");
    },
    count() {
      return this.panel.bars ? this.panel.bars.length : this.times.length;
    },
  },
  methods: {
    x(time) {
      return LEFT + (1 - time / (this.first || -1)) * (this.width - LEFT - RIGHT);
    },
    y(value) {
      return TOP + (1 - value / this.most) * (this.height - TOP - BOTTOM);
    },
    valueOf(each) {
      let index = this.cursor;
      if (index === null && this.at !== null && this.at !== undefined)
        index = this.times.findLastIndex((time) => time <= this.at);
      if (index === null || index < 0) index = each.values.length - 1;
      return formatted(each.values[index], this.panel.unit);
    },
    point(event) {
      const box = this.$refs.svg.getBoundingClientRect();
      const part = (event.clientX - box.left - LEFT) / (this.width - LEFT - RIGHT);
      if (this.panel.bars) this.cursor = this.limited(Math.floor(part * this.count));
      else {
        const time = this.first * (1 - part);
        const next = this.times.findIndex((each) => each >= time);
        this.cursor = this.limited(next < 0 ? this.count - 1 : next);
      }
    },
    move(step) {
      this.cursor = this.limited((this.cursor ?? this.count - (step < 0 ? 0 : 1)) + step);
    },
    limited(index) {
      return this.count ? Math.max(0, Math.min(index, this.count - 1)) : null;
    },
  },
};

export default {
  components: { panel: Panel },
  template: `
    <section class="ac-plots" data-test="plots" aria-label="plots">
      <p class="ac-about"><span>Plots of <b data-test="about">{{ content.about }}</b></span>
        <button v-if="content.scope" type="button" class="ac-link" @click="$emit('scope', '')">show all streams</button>
      </p>
      <div :style="{ '--columns': content.panels.length > 4 ? 3 : 4 }"><panel v-for="each in content.panels" :key="each.title" :panel="each" :times="content.times" :at="content.at" /></div>
    </section>`,
  props: { name: String },
  data() {
    return { content: { panels: [], times: [], at: null, about: "", scope: "" } };
  },
  methods: {
    show(content) {
      this.content = content;
    },
  },
};
