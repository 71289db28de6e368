import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  chunksOf,
  decodeEntities,
  emptyMarkdown,
  inlineOf,
  isProse,
  languageOf,
  parseMarkdown,
  safeHref,
} from './blocks.logic.ts'

const sample = [
  '## Title',
  '',
  'Some **bold** and `code`.',
  '',
  '- one',
  '- two',
  '',
  '  more of two',
  '',
  '```ts',
  'const a = 1',
  '',
  'const b = 2',
  '```',
  '',
  '| a | b |',
  '| - | - |',
  '| 1 | 2 |',
  '',
  'The end',
  '===',
].join('\n')

const shapes = (text: string, done = true) =>
  parseMarkdown(text, done).blocks.map((block) => [block.token.type, block.raw])

function streamed(text: string, cuts: readonly number[]) {
  let state = emptyMarkdown
  for (const cut of [...cuts].sort((a, b) => a - b)) state = parseMarkdown(text.slice(0, cut), false, state)
  return parseMarkdown(text, true, state)
}

describe('streamed Markdown', () => {
  it('has the same blocks at its end, wherever it was cut', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(sample.length)), (cuts) => {
        const { blocks } = streamed(sample, cuts)
        expect(blocks.map((block) => [block.token.type, block.raw])).toEqual(shapes(sample))
      }),
    )
  })

  it('keeps the objects of complete blocks', () => {
    const one = parseMarkdown('First.\n\nSecond.\n\nThi', false)
    const two = parseMarkdown('First.\n\nSecond.\n\nThird', false, one)
    expect(two.blocks[0]).toBe(one.blocks[0])
    expect(two.blocks.at(-1)?.closed).toBe(false)
  })

  it('closes open markup for display', () => {
    const { blocks } = parseMarkdown('A **bold', false)
    expect(JSON.stringify(blocks.at(-1)?.token)).toContain('"strong"')
    const fence = parseMarkdown('```ts\nconst a', false).blocks.at(-1)
    expect([fence?.token.type, fence?.closed]).toEqual(['code', false])
  })

  it('is parsed from scratch if the text does not continue the previous one', () => {
    const before = parseMarkdown('One.\n\nTwo.', false)
    expect(parseMarkdown('Else', true, before).blocks.map((block) => block.raw)).toEqual(['Else'])
  })

  it('accepts texts on which the lexer fails', () => {
    for (const text of ['>'.repeat(20_000), `${'- '.repeat(5000)}x`, '['.repeat(5000), '\0\u202e<script>'])
      expect(parseMarkdown(text, true).blocks.length).toBeGreaterThan(0)
  })
})

describe('a very long line', () => {
  it('is separated from the Markdown around it', () => {
    const text = `# Title\n\n${'x '.repeat(5000)}\n\nThe **end**`
    const { blocks } = parseMarkdown(text, true)
    expect(blocks.map(({ token }) => token.type).filter((type) => type !== 'space')).toEqual([
      'heading',
      'long',
      'paragraph',
    ])
    expect(blocks.map(({ raw }) => raw).join('')).toBe(text)
  })

  it('stays inside its fence', () => {
    const { blocks } = parseMarkdown(`\`\`\`js\n${'x'.repeat(9000)}\n\`\`\``, true)
    expect(blocks.map(({ token }) => token.type)).toEqual(['code'])
  })

  it('is split into chunks whose borders stay while the text grows', () => {
    const text = 'some words '.repeat(2000)
    const whole = chunksOf(text)
    expect(whole.join('')).toBe(text)
    const part = chunksOf(text.slice(0, 10_000))
    expect(part.slice(0, -1)).toEqual(whole.slice(0, part.length - 1))
    expect(chunksOf('x'.repeat(9000)).map(({ length }) => length)).toEqual([4000, 4000, 1000])
  })
})

describe('a long paragraph', () => {
  it('is prose if it can be split at spaces', () => {
    for (const text of ['some words '.repeat(400), `${'some words '.repeat(4000)}\n`])
      expect(isProse(text)).toBe(true)
  })

  it('is not prose without spaces, with several lines or over the length limit', () => {
    for (const text of [
      'x'.repeat(9000),
      `some words ${'x'.repeat(9000)}`,
      'some words '.repeat(5000),
      'a\nb',
    ])
      expect(isProse(text)).toBe(false)
  })

  it('has inline Markdown like a short one', () => {
    expect(inlineOf('Some **bold** words').map(({ type }) => type)).toEqual(['text', 'strong', 'text'])
    expect(
      inlineOf('['.repeat(4000))
        .map(({ raw }) => raw)
        .join(''),
    ).toBe('['.repeat(4000))
  })
})

it('accepts only http, https and mailto links', () => {
  expect(safeHref('https://example.com/a')).toBe('https://example.com/a')
  for (const href of [
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    '/relative',
    'vbscript:x',
  ])
    expect(safeHref(href)).toBeUndefined()
})

it('decodes known entities and leaves the rest', () => {
  expect(decodeEntities('a &amp;&lt; &#39;&#x41; &unknown; &#99999999;')).toBe(
    "a &< 'A &unknown; &#99999999;",
  )
})

it('reads the language of a fence', () => {
  expect([languageOf('ts title="x"'), languageOf('C++'), languageOf(undefined)]).toEqual(['ts', 'c++', ''])
})
