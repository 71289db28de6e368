import { describe, expect, it } from 'vitest'
import { markdownHtml } from './markdown-html.ts'

const toHtml = (text: string) => markdownHtml(text).text

describe("an agent's Markdown as HTML", () => {
  it('has paragraphs, headings, lists and code', () => {
    expect(toHtml('One\ntwo\n\nThree')).toBe('<p class="text">One\ntwo</p><p class="text">Three</p>')
    expect(toHtml('# A\n### B ##')).toBe('<h3>A</h3><h4>B</h4>')
    expect(toHtml('- a\n- b\n  - c')).toBe('<ul><li>a</li><li>b\n<ul><li>c</li></ul></li></ul>')
    expect(toHtml('3. a\n4. b')).toBe('<ol start="3"><li>a</li><li>b</li></ol>')
    expect(toHtml('Look:\n```ts\na < b\n\n# no\n```\nend')).toBe(
      '<p class="text">Look:</p><pre>a &lt; b\n\n# no</pre><p class="text">end</p>',
    )
    expect(toHtml('> said\n> so')).toBe('<blockquote><p class="text">said\nso</p></blockquote>')
  })

  it('with very many fences takes linear time', () => {
    const start = performance.now()
    expect(toHtml('```\n'.repeat(200_000)).match(/<pre>/g)).toHaveLength(100_000)
    expect(performance.now() - start).toBeLessThan(4_000)
  })

  it('has bold, italic, code and the URL of a link within a line', () => {
    expect(toHtml('**a** and *b* and _c_ and `d*e*`')).toBe(
      '<p class="text"><strong>a</strong> and <em>b</em> and <em>c</em> and <code>d*e*</code></p>',
    )
    expect(toHtml('see [the docs](https://example.org/a?b=1&c)')).toBe(
      '<p class="text">see the docs <span class="soft">(https://example.org/a?b=1&amp;c)</span></p>',
    )
    expect(toHtml('snake_case_name and 2 * 3 * 4 and ** and `')).toBe(
      '<p class="text">snake_case_name and 2 * 3 * 4 and ** and `</p>',
    )
  })

  it('has tables, tasks, rules and struck text', () => {
    expect(toHtml('a | b\n-|-:\n1 | **2**')).toBe(
      '<table><thead><tr><th>a</th><th align="right">b</th></tr></thead><tbody><tr><td>1</td><td align="right"><strong>2</strong></td></tr></tbody></table>',
    )
    expect(toHtml('- [ ] a\n- [x] b')).toBe('<ul><li>☐ a</li><li>☑ b</li></ul>')
    expect(toHtml('~~a~~\n\n---')).toBe('<p class="text"><s>a</s></p><hr>')
  })

  it('shows the address of a link only if the text does not contain it, and never loads an image', () => {
    expect(toHtml('https://a.example and <b@c.example>')).toBe(
      '<p class="text">https://a.example and b@c.example</p>',
    )
    expect(toHtml('![a chart](http://a.example/b.png)')).toBe(
      '<p class="text">a chart <span class="soft">(image: http://a.example/b.png)</span></p>',
    )
  })

  it('shows hidden characters in code and addresses', () => {
    expect(toHtml('`a\u202eb` [x](http://a.example/\u200bb)')).toContain('<code>a\\u{202e}b</code>')
    expect(toHtml('[x](http://a.example/\u200bb)')).toContain('(http://a.example/\\u{200b}b)')
    expect(toHtml('```\na\u202eb\n```')).toBe('<pre>a\\u{202e}b</pre>')
  })

  it('keeps a fence whole in a long text', () => {
    const code = 'line of code\n'.repeat(5_000).trimEnd()
    expect(toHtml(`${'Some words.\n\n'.repeat(2_000)}\`\`\`\n${code}\n\`\`\`\nend`)).toContain(
      `<pre>${code}</pre><p class="text">end</p>`,
    )
  })

  it.each([
    '<script>alert(1)</script>',
    '# <img src=x onerror=alert(1)>',
    '- <iframe>\n- **<b>**',
    '```"><script>\n<script>',
    '[<a>](javascript:alert("1"))',
    '`<script>` **`<i>`** *_<u>_*',
    '> <style>\n1. <form>',
    '[a](" onclick="x")',
    '<div onclick="x">\n<b>\n</div>',
    '<a> | <b>\n-|-:\n<i> | !["><u>]("><u>)',
    '[x]: "><b>\n\n[x] ~~<s>~~ <a@b.c"><i>',
  ])('escapes every tag in the text: %j', (text) => {
    const ours =
      /<\/?(p|h3|h4|ul|ol|li|pre|code|strong|em|s|blockquote|span|table|thead|tbody|tr|th|td|hr)( (class|start|align)="[\w]*")?>/g
    expect(toHtml(text).replace(ours, '')).not.toMatch(/[<>"]/)
  })

  it('terminates for any text', () => {
    const many = 20_000
    const odd = ['*', '**a ', 'a`', '[', '[a](', '> ', '>', '- ', '_a', '`` a ', '1. ', '#']
    for (const piece of odd) expect(toHtml(`${piece.repeat(many)}x`).length).toBeGreaterThan(many)
    const stairs = Array.from({ length: 300 }, (_, index) => `${' '.repeat(2 * index)}- a`)
    expect(toHtml(stairs.join('\n'))).toContain('<li>a')
  })
})
