import { createCssVariablesTheme, createHighlighterCore } from 'shiki/core'
import { createJavaScriptRegexEngine } from 'shiki/engine/javascript'
import { cached } from '../../base/cached.ts'
import { type Language, loadLanguage } from './languages.ts'

/** Each token is its text and the name of its kind. */
export type TokenLines = (readonly [content: string, kind: string])[][]
export type HighlightRequest = { readonly id: number; readonly code: string; readonly language: Language }

const theme = createCssVariablesTheme({ name: 'parley', variablePrefix: '--tok-', variableDefaults: {} })
const highlighter = createHighlighterCore({
  themes: [theme],
  langs: [],
  engine: createJavaScriptRegexEngine({ forgiving: true }),
})
const load = cached(async (language: Language) => {
  const [ready, grammar] = await Promise.all([highlighter, loadLanguage(language)])
  await ready.loadLanguage(grammar)
})

addEventListener('message', async ({ data }: MessageEvent<HighlightRequest>) => {
  const lines = await tokens(data).catch(() => undefined)
  postMessage({ id: data.id, lines })
})

async function tokens({ code, language }: HighlightRequest): Promise<TokenLines> {
  await load(language)
  const { tokens } = (await highlighter).codeToTokens(code, { lang: language, theme: 'parley' })
  return tokens.map((line) => line.map(({ content, color }) => [content, kindOf(color)]))
}

/**
 * The kind of a token, from its colour in the theme. Each colour is a CSS variable, which the style sheet
 * defines; the kind is the name of that variable.
 */
function kindOf(color: string | undefined): string {
  return /--tok-(?:token-)?([\w-]+)/.exec(color ?? '')?.[1] ?? ''
}
