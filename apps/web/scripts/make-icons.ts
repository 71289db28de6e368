import { readFileSync, writeFileSync } from 'node:fs'
import { chromium } from 'playwright-core'
import { findChromium } from '../../../tests/run/chromium.ts'

/** Draws the PNG icons of the installed page from icon.svg. Run it after icon.svg was changed, and commit the files. */
const folder = new URL('../public/', import.meta.url)
const svg = readFileSync(new URL('icon.svg', folder), 'utf8').replace(/<title>.*<\/title>/, '')
/** The maskable icon has square corners and a margin, because the system cuts its own shape out of the icon. */
const maskable = svg.replace(' rx="7"', '').replace('<path', '<path transform="translate(6.4 6.4) scale(.6)"')

const executablePath = findChromium()
if (executablePath === undefined) throw new Error('Chromium is missing: name one in PARLEY_CHROMIUM.')
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
const page = await browser.newPage()
for (const [name, drawing, size] of [
  ['icon-192.png', svg, 192],
  ['icon-512.png', svg, 512],
  ['icon-maskable.png', maskable, 512],
  // iOS rounds the corners itself.
  ['icon-touch.png', svg.replace(' rx="7"', ''), 180],
] as const) {
  await page.setViewportSize({ width: size, height: size })
  await page.setContent(
    `<style>body{margin:0}svg{display:block;width:${size}px;height:${size}px}</style>${drawing}`,
  )
  writeFileSync(new URL(name, folder), await page.screenshot({ omitBackground: true }))
}
await browser.close()
