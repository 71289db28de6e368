import { createCssVariablesTheme, createHighlighterCore, type HighlighterCore } from 'shiki/core'
import { createJavaScriptRegexEngine } from 'shiki/engine/javascript'
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
const loaded = new Map<Language, Promise<void>>()

addEventListener('message', async ({ data }: MessageEvent<HighlightRequest>) => {
  const lines = await tokens(data).catch(() => undefined)
  postMessage({ id: data.id, lines })
})

async function tokens({ code, language }: HighlightRequest): Promise<TokenLines> {
  const ready = await highlighter
  await load(ready, language)
  const { tokens } = ready.codeToTokens(code, { lang: language, theme: 'parley' })
  return tokens.map((line) => line.map(({ content, color }) => [content, kindOf(color)]))
}

function load(ready: HighlighterCore, language: Language): Promise<void> {
  const known = loaded.get(language)
  if (known) return known
  const loading = loadLanguage(language).then((grammar) => ready.loadLanguage(grammar))
  loaded.set(language, loading)
  return loading
}

/** The theme's colours are CSS variables. Only the name of the variable is passed on; the style sheet defines it. */
function kindOf(color: string | undefined): string {
  return /--tok-(?:token-)?([\w-]+)/.exec(color ?? '')?.[1] ?? ''
}
