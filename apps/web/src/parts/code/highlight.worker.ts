import { createCssVariablesTheme, createHighlighterCore, type GrammarState } from 'shiki/core'
import { createJavaScriptRegexEngine } from 'shiki/engine/javascript'
import { cached } from '../../base/cached.ts'
import { loadGrammar } from './grammars.ts'
import type { Language } from './languages.ts'

/** Each token is its text and the name of its kind. */
export type TokenLines = (readonly [content: string, kind: string])[][]
export type HighlightRequest = {
  readonly id: number
  readonly code: string
  readonly language: Language
  /**
   * The longer text of which the code is a piece. Its pieces arrive in order, the first one with `isFirst`.
   */
  readonly piece?: { readonly of: number; readonly isFirst: boolean }
}

const theme = createCssVariablesTheme({ name: 'parley', variablePrefix: '--tok-', variableDefaults: {} })
const highlighter = createHighlighterCore({
  themes: [theme],
  langs: [],
  engine: createJavaScriptRegexEngine({ forgiving: true }),
})
const load = cached(async (language: Language) => {
  const [ready, grammar] = await Promise.all([highlighter, loadGrammar(language)])
  await ready.loadLanguage(grammar)
})

addEventListener('message', async ({ data }: MessageEvent<HighlightRequest>) => {
  const lines = await tokens(data).catch(() => undefined)
  postMessage({ id: data.id, lines })
})

/** The state of the grammar at the end of the last piece of a text. */
const ends = new Map<number, GrammarState>()
const maxEnds = 8
/** The maximum length of a highlighted line: a longer line is data, and would take too long. */
const maxLineLength = 2_000

async function tokens({ code, language, piece }: HighlightRequest): Promise<TokenLines> {
  await load(language)
  const end = piece && !piece.isFirst ? ends.get(piece.of) : undefined
  const { tokens, grammarState } = (await highlighter).codeToTokens(code, {
    lang: language,
    theme: 'parley',
    ...(piece && { tokenizeMaxLineLength: maxLineLength }),
    ...(end && { grammarState: end }),
  })
  if (piece && grammarState) rememberEnd(piece.of, grammarState)
  return tokens.map((line) => line.map(({ content, color }) => [content, kindOf(color)]))
}

function rememberEnd(text: number, state: GrammarState): void {
  ends.delete(text)
  ends.set(text, state)
  if (ends.size > maxEnds) ends.delete(ends.keys().next().value ?? 0)
}

/**
 * The kind of a token, from its colour in the theme. Each colour is a CSS variable, which the style sheet
 * defines; the kind is the name of that variable.
 */
function kindOf(color: string | undefined): string {
  return /--tok-(?:token-)?([\w-]+)/.exec(color ?? '')?.[1] ?? ''
}
