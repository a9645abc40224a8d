// Map of streams: five columns of nodes, with lines between them, red where a party holds a stream back.
// All texts are inserted by {{ }} and bound attributes, which escape them.
const [ROW, HEAD, NODE, GAP, LANE] = [44, 24, 36, 0.4, 8];

export default {
  template: `
    <section class="ac-panel" aria-labelledby="ac-map-title" data-test="map">
      <div class="ac-head">
        <h2 id="ac-map-title">Map of streams <small v-if="content.hidden">{{ content.hidden }} more are not shown</small></h2>
      </div>
      <p v-if="!content.edges.length" class="ac-muted">no stream</p>
      <div v-else class="ac-scroll" tabindex="0" role="region" aria-labelledby="ac-map-title">
        <div class="ac-map" :style="{ height: height + 'px' }">
          <svg :viewBox="'0 0 100 ' + height" preserveAspectRatio="none" aria-hidden="true">
            <path v-for="edge in lines" :class="edge.alert ? 'ac-flow ac-stopped' : 'ac-flow'" :d="edge.path"
                  :stroke-width="edge.width"><title>{{ edge.text }}</title></path>
          </svg>
          <ul v-for="(column, index) in content.columns" :style="{ left: 20 * index + gap + '%' }" :aria-label="column.title">
            <li class="ac-muted">{{ column.title }}</li>
            <li v-for="node in column.nodes" class="ac-node" :class="{ 'ac-stopped': node.alert }" :title="node.full">
              <b :class="{ 'ac-alert': node.alert }">{{ node.label }}</b><span>{{ node.detail }}</span>
            </li>
          </ul>
        </div>
      </div>
    </section>`,
  props: { name: String },
  data() {
    return { content: { columns: [], edges: [], hidden: 0 }, gap: GAP };
  },
  computed: {
    // Below the nodes of the columns that some lines skip; each of these lines has a lane of its own there.
    floor() {
      return HEAD + ROW * Math.max(0, ...this.content.columns.slice(2, 4).map((column) => column.nodes.length));
    },
    skips() {
      return this.content.edges.filter((edge) => edge.to[0] - edge.from[0] > 1);
    },
    height() {
      const nodes = HEAD + ROW * Math.max(1, ...this.content.columns.map((column) => column.nodes.length));
      return Math.max(nodes, this.floor + LANE * (this.skips.length + 1));
    },
    lines() {
      const most = Math.max(...this.content.edges.map((edge) => edge.rate), 1);
      return this.content.edges.map((edge) => {
        const [x1, x2] = [20 * edge.from[0] + 16 + GAP, 20 * edge.to[0] + GAP];
        const [y1, y2] = [edge.from, edge.to].map(([, row]) => HEAD + ROW * row + NODE / 2);
        const lane = this.floor + LANE * (this.skips.indexOf(edge) + 1) - LANE / 2;
        const path =
          edge.to[0] - edge.from[0] > 1
            ? `M${x1} ${y1}C${x1 + 2} ${y1} ${x1 + 2} ${lane} ${x1 + 4} ${lane}` +
              `L${x2 - 4} ${lane}C${x2 - 2} ${lane} ${x2 - 2} ${y2} ${x2} ${y2}`
            : `M${x1} ${y1}C${x1 + 2} ${y1} ${x2 - 2} ${y2} ${x2} ${y2}`;
        return { ...edge, path, width: 1 + (3 * Math.log1p(edge.rate)) / Math.log1p(most) };
      });
    },
  },
  methods: {
    show(content) {
      this.content = content;
    },
  },
};
