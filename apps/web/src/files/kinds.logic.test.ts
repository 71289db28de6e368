import { expect, it } from 'vitest'
import { renderingOf, svgAddress } from './kinds.logic.ts'

const text = (path: string, content = '', cut = false) =>
  ({ type: 'text', path, size: content.length, text: content, cut }) as const

it('Markdown and SVG can be rendered, unless they are too long or cut', () => {
  expect(renderingOf(text('docs/README.MD'))).toBe('markdown')
  expect(renderingOf(text('logo.svg'))).toBe('picture')
  expect(renderingOf(text('a.ts'))).toBeUndefined()
  expect(renderingOf(text('a.md', 'x'.repeat(400_000)))).toBeUndefined()
  expect(renderingOf(text('a.md', 'x', true))).toBeUndefined()
  expect(renderingOf({ type: 'binary', path: 'a.md', size: 1 })).toBeUndefined()
})

it('the address of an SVG has any text', () => {
  expect(svgAddress('<svg>#%\ud800</svg>')).toBe(
    'data:image/svg+xml;charset=utf-8,%3Csvg%3E%23%25%EF%BF%BD%3C%2Fsvg%3E',
  )
})
